// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sampleSize is how many values a histogram keeps.
const sampleSize = 1028

var histogramBehaviours = []behaviour{
	{
		name: "histogram",
		rule: "Percentile p of n sorted values is at position p*(n+1), interpolated, clamped to the ends; the standard deviation is the population's; an empty histogram has zeros.",
		check: func(t *testing.T, newCollection func() collection) {
			for _, tc := range summaryCases {
				t.Run(tc.name, func(t *testing.T) {
					h := newCollection().Histogram("h")
					for _, v := range tc.values {
						h.Update(v)
					}
					compareSummary(t, h.Value(), tc.want, tc.values)
				})
			}
		},
	},
	{
		name: "histogram values",
		rule: "Up to 1,028 values a summary is exact, at any number of values, in any order of arrival and however often it is asked for.",
		check: func(t *testing.T, newCollection func() collection) {
			for name, values := range valueSequences() {
				t.Run(name, func(t *testing.T) {
					m := newCollection()
					h := m.Histogram("h")
					checkSummary(t, h.Value())
					for i, v := range values {
						h.Update(v)
						if n := i + 1; n < 20 || n%97 == 0 || n >= sampleSize-1 {
							checkSummary(t, h.Value(), values[:n]...)
						}
					}
					checkSummary(t, h.Value(), values...)
					checkSummary(t, m.All()["histogram_h"], values...)
				})
			}
		},
	},
	{
		name: "histogram extremes",
		rule: "Any int64 is a value.",
		check: func(t *testing.T, newCollection func() collection) {
			for _, values := range extremeValues {
				h := newCollection().Histogram("h")
				for _, v := range values {
					h.Update(v)
				}
				checkSummary(t, h.Value(), values...)
			}
		},
	},
}

// RunStatistics checks a function that summarises numbers as a histogram does,
// as OPA's Statistics, with up to 1,028 numbers.
func RunStatistics(t *testing.T, statistics func(num ...int64) any) {
	t.Run("cases", func(t *testing.T) {
		for _, tc := range summaryCases {
			compareSummary(t, statistics(tc.values...), tc.want, tc.values)
		}
	})
	t.Run("values", func(t *testing.T) {
		for _, values := range valueSequences() {
			for _, n := range []int{0, 1, 2, 3, 10, 100, 1000, sampleSize - 1, sampleSize} {
				checkSummary(t, statistics(values[:n]...), values[:n]...)
			}
		}
	})
	t.Run("extremes", func(t *testing.T) {
		for _, values := range extremeValues {
			checkSummary(t, statistics(values...), values...)
		}
	})
	t.Run("arguments", func(t *testing.T) {
		values := []int64{3, 1, 2}
		statistics(values...)
		if !slices.Equal(values, []int64{3, 1, 2}) {
			t.Errorf("the numbers passed were changed to %v", values)
		}
	})
	t.Run("ownership", func(t *testing.T) {
		clear(statistics(1, 2).(map[string]any))
		checkSummary(t, statistics(1, 2), 1, 2)
	})
}

// summaryCases are worked out by hand.
var summaryCases = []struct {
	name   string
	values []int64
	want   map[string]any
}{
	{"empty", nil, summary(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)},
	{"one", []int64{7}, summary(1, 7, 7, 7, 0, 7, 7, 7, 7, 7, 7, 7)},
	{"one zero", []int64{0}, summary(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)},
	{"one negative", []int64{-5}, summary(1, -5, -5, -5, 0, -5, -5, -5, -5, -5, -5, -5)},
	{"two", []int64{20, 10}, summary(2, 10, 20, 15, 5, 15, 20, 20, 20, 20, 20, 20)},
	{"four", []int64{4, 1, 3, 2}, summary(4, 1, 4, 2.5, math.Sqrt(1.25), 2.5, 3.75, 4, 4, 4, 4, 4)},
	{"one to ten", []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		summary(10, 1, 10, 5.5, math.Sqrt(8.25), 5.5, 8.25, 9.9, 10, 10, 10, 10)},
	{"around zero", []int64{-3, 3, -1, 1}, summary(4, -3, 3, 0, math.Sqrt(5), 0, 2.5, 3, 3, 3, 3, 3)},
	{"equal", []int64{6, 6, 6, 6, 6}, summary(5, 6, 6, 6, 0, 6, 6, 6, 6, 6, 6, 6)},
	{"full", countTo(sampleSize), summary(1028, 0, 1027, 513.5, math.Sqrt((1028*1028-1)/12.),
		513.5, 770.75, 925.1, 976.55, 1017.71, 1026.971, 1027)},
}

// extremeValues are near the ends of int64; their sums are not.
var extremeValues = [][]int64{
	{math.MaxInt64},
	{math.MinInt64},
	{math.MaxInt64, math.MinInt64},
	{math.MinInt64, 0, math.MaxInt64, 1},
	{math.MaxInt64 - 1, 1},
	{math.MinInt64 / 2, math.MinInt64 / 2},
	{1 << 53, 1<<53 + 1, -1 << 53},
}

// valueSequences returns sequences of 1,028 values.
func valueSequences() map[string][]int64 {
	rng := rand.New(rand.NewPCG(1, 2))
	sequences := map[string][]int64{"ascending": countTo(sampleSize)}
	sequences["descending"] = countTo(sampleSize)
	slices.Reverse(sequences["descending"])
	generators := []struct {
		name string
		next func(i int) int64
	}{
		{"small", func(int) int64 { return rng.Int64N(10) }},
		{"scattered", func(int) int64 { return rng.Int64N(1e12) - 1e9 }},
		{"skewed", func(int) int64 { return int64(math.Exp(rng.NormFloat64()*3 + 10)) }},
		{"wide", func(int) int64 { return rng.Int64() >> (10 + rng.IntN(50)) * (1 - 2*rng.Int64N(2)) }},
		{"constant", func(int) int64 { return 123_456_789 }},
		{"alternating", func(i int) int64 { return int64(1-2*(i%2)) * 1e9 }},
		{"zeros", func(int) int64 { return 0 }},
	}
	for _, g := range generators {
		values := make([]int64, sampleSize)
		for i := range values {
			values[i] = g.next(i)
		}
		sequences[g.name] = values
	}
	return sequences
}

func countTo(n int) []int64 {
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(i)
	}
	return values
}

// percentileKeys are the summary's percentiles.
var percentileKeys = []struct {
	key string
	p   float64
}{
	{"median", 0.5}, {"75%", 0.75}, {"90%", 0.9}, {"95%", 0.95}, {"99%", 0.99}, {"99.9%", 0.999}, {"99.99%", 0.9999},
}

// summary returns the Value of a histogram; percentiles are in the order of
// percentileKeys.
func summary(count, least, most int64, mean, stddev float64, percentiles ...float64) map[string]any {
	m := map[string]any{"count": count, "min": least, "max": most, "mean": mean, "stddev": stddev}
	for i, p := range percentileKeys {
		m[p.key] = percentiles[i]
	}
	return m
}

// summarize computes the Value of a histogram of these values by definition.
// Their sum must fit an int64.
func summarize(values []int64) map[string]any {
	n := len(values)
	if n == 0 {
		return summary(0, 0, 0, 0, 0, make([]float64, len(percentileKeys))...)
	}
	sorted := slices.Sorted(slices.Values(values))
	var sum int64
	for _, v := range sorted {
		sum += v
	}
	mean := float64(sum) / float64(n)
	var squares float64
	for _, v := range sorted {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	var percentiles []float64
	for _, p := range percentileKeys {
		position := p.p * float64(n+1)
		i := int(position)
		switch {
		case i < 1:
			percentiles = append(percentiles, float64(sorted[0]))
		case i >= n:
			percentiles = append(percentiles, float64(sorted[n-1]))
		default:
			lower, upper := float64(sorted[i-1]), float64(sorted[i])
			percentiles = append(percentiles, lower+(position-float64(i))*(upper-lower))
		}
	}
	return summary(int64(n), sorted[0], sorted[n-1], mean, math.Sqrt(squares/float64(n)), percentiles...)
}

// checkSummary checks that got is the Value of a histogram of these values.
func checkSummary(t *testing.T, got any, values ...int64) {
	t.Helper()
	compareSummary(t, got, summarize(values), values)
}

// compareSummary compares two summaries of the same values. Integers have to be
// equal. Floats may differ by the rounding of a few operations, as the order
// of a sum and fused multiplication are not prescribed.
func compareSummary(t *testing.T, got any, want map[string]any, values []int64) {
	t.Helper()
	if err := summaryError(got, want); err != nil {
		t.Errorf("%v\nof %d values %s", err, len(values), limited(fmt.Sprint(values)))
	}
}

func summaryError(got any, want map[string]any) error {
	g, ok := got.(map[string]any)
	if !ok {
		return fmt.Errorf("a histogram's value is a %T, want map[string]any", got)
	}
	if gotKeys, wantKeys := slices.Sorted(maps.Keys(g)), slices.Sorted(maps.Keys(want)); !slices.Equal(gotKeys, wantKeys) {
		return fmt.Errorf("a histogram has the fields %q, want %q", gotKeys, wantKeys)
	}
	largest := math.Max(math.Abs(float64(want["min"].(int64))), math.Abs(float64(want["max"].(int64))))
	for key, w := range want {
		wf, isFloat := w.(float64)
		gf, ok := g[key].(float64)
		switch {
		case !isFloat && g[key] != w:
			return fmt.Errorf("%s is %T %v, want %T %v", key, g[key], g[key], w, w)
		case isFloat && !ok:
			return fmt.Errorf("%s is a %T, want float64", key, g[key])
		case isFloat && !(math.Abs(gf-wf) <= 1e-12*math.Abs(wf)+largest*0x1p-50):
			return fmt.Errorf("%s is %v, want %v", key, gf, wf)
		}
	}
	return nil
}

// limited shortens a text for a message.
func limited(s string) string {
	if len(s) > 500 {
		return s[:500] + "..."
	}
	return s
}
