// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// snapshotOf is what a histogram of this layout must hold after values,
// computed from all of them at once.
func snapshotOf(l Layout, values []int64) *Snapshot {
	s := &Snapshot{layout: l, atMost: make([]uint64, l.Bounds.Len())}
	for i := range s.atMost {
		for _, n := range values {
			if n >= 0 && n <= l.Bounds.At(i) {
				s.atMost[i]++
			}
		}
	}
	sum := new(big.Int)
	var positive []int64
	for _, n := range values {
		switch {
		case n < 0:
			s.negatives++
			continue
		case n == 0:
			s.zeros++
		default:
			positive = append(positive, n)
			sum.Add(sum, big.NewInt(n))
		}
		s.count++
	}
	s.sum.lo = new(big.Int).And(sum, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	s.sum.hi = sum.Rsh(sum, 64).Uint64()
	if len(positive) == 0 {
		return s
	}
	s.least, s.most = slices.Min(positive), slices.Max(positive)
	for s.layout.index(s.most)-s.layout.index(s.least) >= l.MaxBuckets {
		s.layout.Schema--
	}
	s.first = s.layout.index(s.least)
	s.counts = make([]uint64, s.layout.index(s.most)-s.first+1)
	for _, n := range positive {
		s.counts[s.layout.index(n)-s.first]++
	}
	return s
}

func mustEqual(t *testing.T, what string, got, want *Snapshot) {
	t.Helper()
	g, w := *got, *want
	if len(g.counts) == 0 {
		g.counts = nil
	}
	if len(w.counts) == 0 {
		w.counts = nil
	}
	if len(g.atMost) == 0 {
		g.atMost = nil
	}
	if len(w.atMost) == 0 {
		w.atMost = nil
	}
	if !reflect.DeepEqual(g, w) {
		t.Fatalf("%s:\n got %+v\nwant %+v", what, g, w)
	}
}

func snapshot(h *Histogram) *Snapshot {
	s := new(Snapshot)
	h.Snapshot(s)
	return s
}

func newHistogram(t testing.TB, l Layout, values ...int64) *Histogram {
	t.Helper()
	h, err := NewLayout(l)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range values {
		h.Record(n)
	}
	return h
}

func randomLayout(r *rand.Rand) Layout {
	return Layout{
		Unit:       Unit(r.IntN(units)),
		Schema:     MinSchema + r.IntN(MaxSchema-MinSchema+1),
		MaxBuckets: MinBuckets + r.IntN(1<<r.IntN(11)),
		Bounds:     randomBounds(r),
	}
}

// randomBounds returns up to MaxBounds bounds, or nil: values such as random
// ones and extra ones, their neighbours, and the ends of buckets.
func randomBounds(r *rand.Rand, extra ...int64) *Bounds {
	list := append(randomValues(r, 1<<r.IntN(8)), extra...)
	for i, n := range list {
		switch r.IntN(4) {
		case 0:
			list[i] = max(n, 1) - 1
		case 1:
			list[i] = min(n, math.MaxInt64-1) + 1
		case 2:
			if n > 0 {
				s := Snapshot{layout: Layout{Unit: Unit(r.IntN(units)), Schema: r.IntN(MaxSchema)}}
				list[i] = s.layout.bucket(s.layout.index(n)).High
			}
		}
	}
	list = slices.DeleteFunc(list, func(n int64) bool { return n <= 0 })
	slices.Sort(list)
	list = slices.Compact(list)
	b, err := NewBounds(list[:min(len(list), MaxBounds)]...)
	if err != nil {
		panic(err)
	}
	if b.Len() == 0 {
		return nil
	}
	return b
}

// randomValues returns up to n values of one of several kinds.
func randomValues(r *rand.Rand, n int) []int64 {
	values := make([]int64, r.IntN(n+1))
	kind := r.IntN(6)
	for i := range values {
		switch kind {
		case 0: // latencies
			values[i] = logNormal(r, 1)
		case 1: // all sizes
			values[i] = int64(r.Uint64() >> (1 + r.IntN(63)))
		case 2: // small, with zeros and negatives
			values[i] = int64(r.IntN(20) - 5)
		case 3: // the ends of the type
			values[i] = []int64{math.MinInt64, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}[r.IntN(6)]
		case 4: // wide buckets
			values[i] = math.MaxInt64 - int64(r.Uint64()>>(1+r.IntN(10)))
		default: // one bucket
			values[i] = 1_000_000 + int64(r.IntN(1000))
		}
	}
	return values
}

// logNormal draws a latency in nanoseconds with a median of 200 µs.
func logNormal(r *rand.Rand, sigma float64) int64 {
	return int64(200e3 * math.Exp(sigma*r.NormFloat64()))
}

func logNormals(seed uint64, n int, sigma float64) []int64 {
	r := rand.New(rand.NewPCG(seed, 0))
	values := make([]int64, n)
	for i := range values {
		values[i] = logNormal(r, sigma)
	}
	return values
}
