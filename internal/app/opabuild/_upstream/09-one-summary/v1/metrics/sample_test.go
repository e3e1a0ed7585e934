// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSummarize(t *testing.T) {
	numbers := make([]int64, 1000)
	for i := range numbers {
		numbers[i] = int64(len(numbers) - i)
	}
	got := summarize(numbers).value()
	for key, exp := range map[string]float64{
		"count": 1000, "min": 1, "max": 1000, "mean": 500.5, "stddev": 288.6749902572,
		"median": 500.5, "75%": 750.75, "90%": 900.9, "95%": 950.95, "99%": 990.99, "99.9%": 999.999, "99.99%": 1000,
	} {
		var g float64
		switch v := got[key].(type) {
		case int64:
			g = float64(v)
		case float64:
			g = v
		}
		if math.Abs(g-exp) > 1e-9 {
			t.Errorf("%s: expected %v, got %v", key, exp, got[key])
		}
	}
	if len(got) != 12 {
		t.Errorf("unexpected statistics %v", got)
	}
}

// Numbers that a histogram can hold have the same statistics as those in one.
func TestStatistics(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100, 1028} {
		h := newHistogram()
		numbers := make([]int64, n)
		for i := range numbers {
			numbers[i] = rand.Int64N(1000) - 500
			h.Update(numbers[i])
		}
		given := slices.Clone(numbers)
		got, exp := Statistics(numbers...), h.Value()
		for key, e := range exp.(map[string]any) {
			if g := got.(map[string]any)[key]; g != e {
				t.Errorf("%d numbers: %s: expected %v, got %v", n, key, e, g)
			}
		}
		if len(got.(map[string]any)) != len(exp.(map[string]any)) {
			t.Errorf("%d numbers: expected %v, got %v", n, exp, got)
		}
		if !slices.Equal(numbers, given) {
			t.Errorf("%d numbers: expected the argument to be left alone", n)
		}
	}
	if got := Statistics(make([]int64, 5000)...).(map[string]any)["count"]; got != int64(5000) {
		t.Errorf("expected a count of 5000, got %v", got)
	}
}

func TestStatisticsAllocs(t *testing.T) {
	numbers := make([]int64, 1000)
	for i := range numbers {
		numbers[i] = rand.Int64N(1000) + 1000
	}
	if got := testing.AllocsPerRun(100, func() { Statistics(numbers...) }); got > 20 {
		t.Errorf("expected no histogram to be filled, got %v allocations", got)
	}
}
