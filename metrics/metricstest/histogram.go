// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sampleSize is the largest number of values that a histogram keeps.
const sampleSize = 1028

// checkStatistics checks a function that summarizes numbers as a histogram does,
// such as OPA's Statistics. It passes up to 1,028 numbers.
func checkStatistics(t *testing.T, statistics func(num ...int64) any) {
	check := func(want map[string]any, values ...int64) {
		t.Helper()
		before := slices.Clone(values)
		got := statistics(values...)
		checkSummary(t, got, want, values)
		if !slices.Equal(values, before) {
			t.Errorf("the function changed its arguments to %.500s", fmt.Sprint(values))
		}
		clear(got.(map[string]any)) // the caller owns it
	}
	for _, tc := range summaryCases {
		check(tc.want, tc.values...)
	}
	for _, values := range valueSequences() {
		for _, n := range []int{0, 1, 2, 3, 10, 100, 1000, sampleSize - 1, sampleSize} {
			check(summarize(values[:n]), values[:n]...)
		}
	}
	for _, values := range extremeValues {
		check(summarize(values), values...)
	}
}

// summaryCases are summaries that were computed by hand.
var summaryCases = []struct {
	values []int64
	want   map[string]any
}{
	{nil, summary(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)},
	{[]int64{7}, summary(1, 7, 7, 7, 0, 7, 7, 7, 7, 7, 7, 7)},
	{[]int64{4, 1, 3, 2}, summary(4, 1, 4, 2.5, math.Sqrt(1.25), 2.5, 3.75, 4, 4, 4, 4, 4)},
	{[]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		summary(10, 1, 10, 5.5, math.Sqrt(8.25), 5.5, 8.25, 9.9, 10, 10, 10, 10)},
	{[]int64{-3, 3, -1, 1}, summary(4, -3, 3, 0, math.Sqrt(5), 0, 2.5, 3, 3, 3, 3, 3)},
	{valueSequences()["ascending"], summary(1028, 0, 1027, 513.5, math.Sqrt((1028*1028-1)/12.),
		513.5, 770.75, 925.1, 976.55, 1017.71, 1026.971, 1027)},
}

// extremeValues are near the ends of int64. Their sums fit an int64.
var extremeValues = [][]int64{
	{math.MaxInt64},
	{math.MinInt64},
	{math.MaxInt64, math.MinInt64},
	{math.MinInt64, 0, math.MaxInt64, 1},
	{math.MaxInt64 - 1, 1},
	{math.MinInt64 / 2, math.MinInt64 / 2},
	{1 << 53, 1<<53 + 1, -1 << 53},
}

// valueSequences returns sequences of 1,028 values by name.
func valueSequences() map[string][]int64 {
	rng := rand.New(rand.NewPCG(1, 2))
	sequences := map[string][]int64{}
	add := func(name string, next func(i int64) int64) {
		for i := range int64(sampleSize) {
			sequences[name] = append(sequences[name], next(i))
		}
	}
	add("ascending", func(i int64) int64 { return i })
	add("scattered", func(int64) int64 { return rng.Int64N(1e12) - 1e9 })
	add("skewed", func(int64) int64 { return int64(math.Exp(rng.NormFloat64()*3 + 10)) })
	add("wide", func(int64) int64 { return rng.Int64() >> (10 + rng.IntN(50)) * (1 - 2*rng.Int64N(2)) })
	add("constant", func(int64) int64 { return 123_456_789 })
	add("alternating", func(i int64) int64 { return (1 - i%2*2) * 1e9 })
	return sequences
}

// percentileKeys are the keys of a summary's percentiles.
var percentileKeys = []struct {
	key string
	p   float64
}{
	{"median", 0.5}, {"75%", 0.75}, {"90%", 0.9}, {"95%", 0.95}, {"99%", 0.99}, {"99.9%", 0.999}, {"99.99%", 0.9999},
}

// summary returns the Value of a histogram, with the percentiles in the order
// of percentileKeys.
func summary(count, least, most int64, mean, stddev float64, percentiles ...float64) map[string]any {
	m := map[string]any{"count": count, "min": least, "max": most, "mean": mean, "stddev": stddev}
	for i, p := range percentileKeys {
		m[p.key] = percentiles[i]
	}
	return m
}

// summarize computes the Value of a histogram of these values by the
// definition. Their sum must fit an int64.
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

// checkSummary compares a summary of these values with the right one.
func checkSummary(t *testing.T, got any, want map[string]any, values []int64) {
	t.Helper()
	if err := summaryError(got, want); err != nil {
		t.Errorf("%v\nfor %d values %.500s", err, len(values), fmt.Sprint(values))
	}
}

// summaryError compares two summaries of the same values. Integers must be
// equal. Floats may differ by the rounding of a few operations, because
// implementations may add in any order and fuse multiplications.
func summaryError(got any, want map[string]any) error {
	g, ok := got.(map[string]any)
	if !ok {
		return fmt.Errorf("a histogram's value is a %T, want map[string]any", got)
	}
	if len(g) != len(want) {
		return fmt.Errorf("a histogram has the fields %v, want %v", g, want)
	}
	largest := math.Max(math.Abs(float64(want["min"].(int64))), math.Abs(float64(want["max"].(int64))))
	for key, w := range want {
		wf, isFloat := w.(float64)
		gf, ok := g[key].(float64)
		near := ok && math.Abs(gf-wf) <= 1e-12*math.Abs(wf)+largest*0x1p-50
		if isFloat && !near || !isFloat && g[key] != w {
			return fmt.Errorf("%s is %T %v, want %T %v", key, g[key], g[key], w, w)
		}
	}
	return nil
}

// sampleError checks the count and the bounds of a summary of a sample of these
// values.
func sampleError(got any, values []int64) error {
	summary, _ := got.(map[string]any)
	least, _ := summary["min"].(int64)
	most, _ := summary["max"].(int64)
	ordered := []float64{float64(slices.Min(values)), float64(least)}
	for _, p := range percentileKeys {
		v, _ := summary[p.key].(float64)
		ordered = append(ordered, v)
	}
	ordered = append(ordered, float64(most), float64(slices.Max(values)))
	if summary["count"] != int64(len(values)) || !slices.IsSorted(ordered) {
		return fmt.Errorf("the summary of a sample is %v", got)
	}
	return nil
}
