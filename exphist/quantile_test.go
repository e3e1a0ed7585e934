// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQuantilesAreWithinTheStatedError(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 3))
	for range 200 {
		l, values := randomLayout(r), randomValues(r, 1000)
		s := snapshot(newHistogram(t, l, values...))
		values = slices.DeleteFunc(values, func(n int64) bool { return n < 0 })
		if len(values) == 0 {
			continue
		}
		slices.Sort(values)
		qs := []float64{0, .001, .01, .1, .25, .5, .75, .9, .99, .999, 1}
		for i, got := range s.AppendQuantiles(nil, qs...) {
			rank := max(int(math.Ceil(qs[i]*float64(len(values)))), 1)
			want := float64(values[rank-1])
			if math.Abs(got-want) > want*s.Layout().RelativeError()*(1+1e-12) {
				t.Fatalf("%+v: quantile %v is %v, want %v ± %v", s.Layout(), qs[i], got, want, s.Layout().RelativeError())
			}
			if got < float64(s.Min()) || got > float64(s.Max()) {
				t.Fatalf("quantile %v is %v, not from %d to %d", qs[i], got, s.Min(), s.Max())
			}
			if one := s.Quantile(qs[i]); one != got {
				t.Fatalf("Quantile(%v) is %v, that of AppendQuantiles %v", qs[i], one, got)
			}
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, test := range []struct {
		values  []int64
		q, want float64
	}{
		{nil, 0.5, nan},
		{nil, 0, nan},
		{[]int64{-5}, 0.5, nan},
		{[]int64{1, 2}, nan, nan},
		{[]int64{7}, 0, 7},
		{[]int64{7}, 0.5, 7},
		{[]int64{7}, 1, 7},
		{[]int64{1, 2, 3, 4}, 0.25, 1},
		{[]int64{1, 2, 3, 4}, 0.26, 2},
		{[]int64{1, 2, 3, 4}, 0.5, 2},
		{[]int64{1, 2, 3, 4}, 0.75, 3},
		{[]int64{1, 2, 3, 4}, -1, 1},
		{[]int64{1, 2, 3, 4}, 2, 4},
		{[]int64{0, 0, 9}, 0.5, 0},
		{[]int64{0, 0, 9}, 0.7, 9},
		{[]int64{-5, 3}, 0, 3},
		{[]int64{1, math.MaxInt64}, 1, math.MaxInt64},
	} {
		s := snapshot(newHistogram(t, Layout{Unit: Integer, Schema: 5, MaxBuckets: 10_000}, test.values...))
		if got := s.Quantile(test.q); got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want)) {
			t.Errorf("quantile %v of %d is %v, want %v", test.q, test.values, got, test.want)
		}
	}
}

// A quantile of two values that are neighbours as float64 is one of them: it is
// not rounded beyond.
func TestQuantileOfNeighbours(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 6))
	for range 10_000 {
		low := math.Ldexp(1+r.Float64(), 53+r.IntN(9))
		high := math.Nextafter(low, math.Inf(1))
		s := snapshotOf(Layout{Unit: Integer, Schema: 5, MaxBuckets: 640}, []int64{int64(low), int64(high)})
		if got := s.Quantile(0.5); got < low || got > high {
			t.Fatalf("the quantile of %v and %v is %v", low, high, got)
		}
	}
}

func TestQuantilesInAnyOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 4))
	for _, values := range [][]int64{
		logNormals(1, 1000, 1),
		{0, 0, 0, 5, 5, 70, 800, 800, 9000, 1 << 20}, // each rank is the last of a bucket's sooner or later
	} {
		s := snapshot(newHistogram(t, DefaultLayout(Nanosecond), values...))
		for range 100 {
			qs := []float64{.99, .5, .5, .01, 1, 0, math.NaN(), .75, -1, 2}
			for range 20 {
				qs = append(qs, float64(r.IntN(11))/10)
			}
			r.Shuffle(len(qs), func(i, j int) { qs[i], qs[j] = qs[j], qs[i] })
			all := s.AppendQuantiles(nil, qs...)
			if len(all) != len(qs) {
				t.Fatalf("%d quantiles of %v, want %d", len(all), qs, len(qs))
			}
			for i, got := range all {
				if want := s.Quantile(qs[i]); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Fatalf("quantile %v is %v, want %v", qs[i], got, want)
				}
			}
		}
	}
}

func TestRelativeError(t *testing.T) {
	t.Parallel()
	for schema, want := range map[int]string{8: "0.00135", 5: "0.01083", 0: "0.33333", -4: "0.99997"} {
		if got := fmt.Sprintf("%.5f", Layout{Schema: schema}.RelativeError()); got != want {
			t.Errorf("schema %d: %s, want %s", schema, got, want)
		}
	}
}
