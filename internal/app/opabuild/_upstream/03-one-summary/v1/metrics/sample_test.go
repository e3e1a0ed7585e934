// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"slices"
	"testing"
)

func TestExpDecaySampleSummary(t *testing.T) {
	s := newExpDecaySample(4, 0.015)
	for i, exp := range []summary{
		{count: 1, minV: 3, maxV: 3, mean: 3},
		{count: 2, minV: 1, maxV: 3, mean: 2},
		{count: 3, minV: 1, maxV: 8, mean: 4},
		{count: 4, minV: 0, maxV: 8, mean: 3},
	} {
		s.Update([]int64{3, 1, 8, 0}[i])
		for range 2 {
			if got := s.summary(); got.count != exp.count || got.minV != exp.minV || got.maxV != exp.maxV || got.mean != exp.mean {
				t.Errorf("update %d: expected %v, got %v", i, exp, got)
			}
		}
	}

	// Of a full reservoir the summary is that of the values in it.
	for i := range int64(1000) {
		s.Update(i)
		count, values := s.snapshot()
		got, exp := s.summary(), summarize(values)
		if got.count != count || got.minV != exp.minV || got.maxV != exp.maxV || got.mean != exp.mean || !slices.Equal(got.percentiles, exp.percentiles) {
			t.Fatalf("update %d: expected %v, got %v", i, *exp, got)
		}
	}
}

func TestExpDecaySampleSummaryAllocs(t *testing.T) {
	s := newExpDecaySample(100, 0.015)
	for i := range int64(100) {
		s.Update(i)
	}
	s.summary()
	if allocs := testing.AllocsPerRun(100, func() { s.summary() }); allocs > 0 {
		t.Errorf("expected no allocation for values that have not changed, got %v", allocs)
	}
}

func TestMeanOfLargeValues(t *testing.T) {
	for _, values := range [][]int64{
		{math.MaxInt64, math.MaxInt64},
		{math.MinInt64, math.MinInt64, math.MinInt64},
		{math.MaxInt64, math.MinInt64},
		{math.MaxInt64, 1},
		{math.MinInt64, -1},
		{-1, -2, -3},
	} {
		exp := 0.0
		for _, v := range values {
			exp += float64(v)
		}
		exp /= float64(len(values))
		if got := mean(values); math.Abs(got-exp) > 1 {
			t.Errorf("%v: expected mean %v, got %v", values, exp, got)
		}
	}
}

func TestStatistics(t *testing.T) {
	for _, n := range []int{0, 1, 10, reservoirSize, reservoirSize + 1, 5000} {
		numbers := make([]int64, n)
		h := newHistogram()
		for i := range numbers {
			numbers[i] = int64(n-i) * 1000
			h.Update(numbers[i])
		}
		before := slices.Clone(numbers)
		got, exp := Statistics(numbers...).(map[string]any), h.Value().(map[string]any)
		if !slices.Equal(before, numbers) {
			t.Errorf("%d numbers: expected them in the order they were given in", n)
		}
		if got["count"] != exp["count"] {
			t.Errorf("%d numbers: expected count %v, got %v", n, exp["count"], got["count"])
		}
		if n > reservoirSize {
			continue // two samples of them
		}
		for k, e := range exp {
			if k != "stddev" && got[k] != e {
				t.Errorf("%d numbers: %s: expected %v, got %v", n, k, e, got[k])
			}
		}
		if got, exp := got["stddev"].(float64), exp["stddev"].(float64); math.Abs(got-exp) > 1e-12*exp {
			t.Errorf("%d numbers: stddev: expected %v, got %v", n, exp, got)
		}
	}
}
