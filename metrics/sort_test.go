// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sortInputs returns n samples with different distributions of the values.
func sortInputs(r *rand.Rand, n int) map[string][]sample {
	make := func(value func(i int) int64) []sample {
		s := make([]sample, n)
		for i := range s {
			s[i] = sample{value(i), int64(i)}
		}
		return s
	}
	return map[string][]sample{
		"equal":     make(func(int) int64 { return 7 }),
		"rising":    make(func(i int) int64 { return int64(i) }),
		"falling":   make(func(i int) int64 { return -int64(i) }),
		"durations": make(func(int) int64 { return int64(math.Exp(12 + 2*r.NormFloat64())) }),
		"geometric": make(func(int) int64 { return 1 << r.IntN(62) }),
		"crowded":   make(func(i int) int64 { return r.Int64N(100) + int64(i%2)<<50 }),
		"signed":    make(func(int) int64 { return r.Int64N(2001) - 1000 }),
		"any":       make(func(int) int64 { return int64(r.Uint64()) }),
		"extremes": make(func(int) int64 {
			return []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64}[r.IntN(6)]
		}),
	}
}

func TestSort(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 2, 3, insertionMax, insertionMax + 1, 100, reservoirSize, 5000} {
		for name, samples := range sortInputs(r, n) {
			want := slices.Clone(samples)
			slices.SortStableFunc(want, func(a, b sample) int { return cmp.Compare(a.value, b.value) })
			(&sorter{spare: make([]sample, n)}).sort(samples)
			if !slices.Equal(samples, want) {
				t.Errorf("%d %s values: out of order, or other samples", n, name)
			}
		}
	}
}

func TestMergeSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	byValue := func(a, b sample) int { return cmp.Compare(a.value, b.value) }
	for range 2000 {
		a, b := make([]sample, r.IntN(60)), make([]sample, r.IntN(60))
		for _, s := range [][]sample{a, b} {
			for i := range s {
				s[i] = sample{r.Int64N(50), r.Int64()}
			}
			slices.SortFunc(s, byValue)
		}
		want := slices.Concat(a, b)
		slices.SortStableFunc(want, byValue)
		if got := mergeSamples(make([]sample, 0, len(want)), a, b); !slices.Equal(got, want) {
			t.Fatalf("merge of %v and %v: %v", a, b, got)
		}
	}
}
