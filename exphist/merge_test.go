// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

func mustMerge(t testing.TB, s, o *Snapshot) {
	t.Helper()
	if err := s.Merge(o); err != nil {
		t.Fatal(err)
	}
}

// merged returns the merge of snapshots into an empty one.
func merged(t testing.TB, all ...*Snapshot) *Snapshot {
	t.Helper()
	s := new(Snapshot)
	for _, o := range all {
		mustMerge(t, s, o)
	}
	return s
}

// checkMergeLaws checks that the order of merging three does not matter, and
// that it is the same as recording all values in one histogram.
func checkMergeLaws(t *testing.T, layouts [3]Layout, values [3][]int64) {
	t.Helper()
	var parts [3]*Snapshot
	coarsest := layouts[0]
	for i := range parts {
		parts[i] = snapshot(newHistogram(t, layouts[i], values[i]...))
		coarsest.Schema = min(coarsest.Schema, parts[i].Layout().Schema)
		coarsest.MaxBuckets = min(coarsest.MaxBuckets, layouts[i].MaxBuckets)
	}
	a, b, c := parts[0], parts[1], parts[2]
	want := snapshotOf(coarsest, slices.Concat(values[:]...))
	for _, order := range [][]*Snapshot{{a, b, c}, {a, c, b}, {b, a, c}, {b, c, a}, {c, a, b}, {c, b, a}} {
		mustEqual(t, "(x+y)+z", merged(t, order...), want)
		mustEqual(t, "x+(y+z)", merged(t, order[0], merged(t, order[1:]...)), want)
	}

	// A histogram keeps its own MaxBuckets.
	coarsest.MaxBuckets = layouts[0].MaxBuckets
	want = snapshotOf(coarsest, slices.Concat(values[:]...))
	for _, order := range [][]*Snapshot{{b, c}, {c, b}} {
		h := newHistogram(t, layouts[0], values[0]...)
		for _, o := range order {
			if err := h.Merge(o); err != nil {
				t.Fatal(err)
			}
		}
		mustEqual(t, "merged into a histogram", snapshot(h), want)
	}
}

func TestMergeLaws(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var layouts [3]Layout
		var values [3][]int64
		for i := range layouts {
			layouts[i], values[i] = randomLayout(r), randomValues(r, 300)
			layouts[i].Unit, layouts[i].Bounds = layouts[0].Unit, layouts[0].Bounds
		}
		checkMergeLaws(t, layouts, values)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add(uint64(1), int64(0), int64(-1), int64(math.MaxInt64))
	f.Add(uint64(2), int64(1), int64(1<<40), int64(1000))
	f.Fuzz(func(t *testing.T, seed uint64, x, y, z int64) {
		r := rand.New(rand.NewPCG(seed, 0))
		var layouts [3]Layout
		var values [3][]int64
		for i, n := range []int64{x, y, z} {
			layouts[i], values[i] = randomLayout(r), append(randomValues(r, 100), n)
			layouts[i].Unit, layouts[i].Bounds = layouts[0].Unit, layouts[0].Bounds
		}
		checkMergeLaws(t, layouts, values)
	})
}

func TestMergeWithItself(t *testing.T) {
	t.Parallel()
	l := DefaultLayout(Nanosecond)
	values := append(logNormals(1, 1000, 1), 0, -1, math.MaxInt64)
	want := snapshotOf(l, slices.Concat(values, values))

	h := newHistogram(t, l, values...)
	s := snapshot(h)
	mustMerge(t, s, s)
	mustEqual(t, "a snapshot with itself", s, want)
	if err := h.Merge(snapshot(h)); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "a histogram with itself", snapshot(h), want)
}

// Two histograms that are merged into each other by two goroutines, while both
// record, do not wait for each other, and lose nothing.
func TestMergeCrosswise(t *testing.T) {
	t.Parallel()
	const times = 20
	l := DefaultLayout(Nanosecond)
	a, b := newHistogram(t, l, 1), newHistogram(t, l, 1<<50)
	var wg sync.WaitGroup
	var gaveA, gaveB uint64
	give := func(from, to *Histogram, gave *uint64) func() {
		return func() {
			var s Snapshot
			for range times {
				from.Record(1000)
				from.Snapshot(&s)
				*gave += s.Count()
				if err := to.Merge(&s); err != nil {
					t.Error(err)
				}
			}
		}
	}
	wg.Go(give(a, b, &gaveA))
	wg.Go(give(b, a, &gaveB))
	wg.Wait()
	for _, x := range []struct {
		h    *Histogram
		want uint64
	}{{a, 1 + times + gaveB}, {b, 1 + times + gaveA}} {
		s := snapshot(x.h)
		checkConsistent(t, s)
		if s.Count() != x.want {
			t.Errorf("count is %d, want %d", s.Count(), x.want)
		}
	}
}

func TestMergeOfEmpty(t *testing.T) {
	t.Parallel()
	l := DefaultLayout(Nanosecond)
	s := snapshot(newHistogram(t, l, 1, 2, 3))
	want := snapshotOf(l, []int64{1, 2, 3})
	mustMerge(t, s, new(Snapshot))
	mustEqual(t, "with the zero value", s, want)
	h := newHistogram(t, l, 1, 2, 3)
	if err := h.Merge(new(Snapshot)); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "into a histogram", snapshot(h), want)

	// What is empty has a schema nevertheless.
	coarse := snapshot(newHistogram(t, Layout{Unit: Nanosecond, Schema: 2, MaxBuckets: 640}, 0))
	h = newHistogram(t, l)
	if err := h.Merge(coarse); err != nil {
		t.Fatal(err)
	}
	h.Record(5)
	mustEqual(t, "a coarse one without buckets", snapshot(h), snapshotOf(Layout{Unit: Nanosecond, Schema: 2, MaxBuckets: 640}, []int64{0, 5}))
}

// What a snapshot held before it was emptied does not show in what is merged
// into its memory.
func TestMergeIntoReusedSnapshot(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 5))
	s := new(Snapshot)
	for i := range 500 {
		l := randomLayout(r)
		var parts []*Snapshot
		s.Reset()
		for range 1 + r.IntN(4) {
			part := snapshotOf(l, randomValues(r, 1<<r.IntN(8)))
			parts = append(parts, part)
			mustMerge(t, s, part)
		}
		mustEqual(t, fmt.Sprint("use ", i), s, merged(t, parts...))
	}
}

func TestMergeOfDifferentUnits(t *testing.T) {
	t.Parallel()
	h := newHistogram(t, DefaultLayout(Nanosecond), 1)
	other := snapshot(newHistogram(t, Layout{Unit: Integer, Schema: 4, MaxBuckets: 100}, 1))
	s := snapshot(h)
	for name, err := range map[string]error{"Histogram.Merge": h.Merge(other), "Snapshot.Merge": s.Merge(other)} {
		if err == nil || !strings.Contains(err.Error(), "nanosecond") || !strings.Contains(err.Error(), "integer") {
			t.Errorf("%s: error %v, want one that names both units", name, err)
		}
	}
	want := snapshotOf(DefaultLayout(Nanosecond), []int64{1})
	mustEqual(t, "the histogram", snapshot(h), want)
	mustEqual(t, "the snapshot", s, want)
}
