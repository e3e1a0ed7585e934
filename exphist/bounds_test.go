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
	"sync/atomic"
	"testing"
)

func newBounds(t testing.TB, values ...int64) *Bounds {
	t.Helper()
	b, err := NewBounds(values...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decades are bounds of latencies, in nanoseconds.
func decades(t testing.TB) *Bounds {
	return newBounds(t, 1e4, 5e4, 1e5, 5e5, 1e6, 5e6, 1e7, 5e7, 1e8, 1e9, 1e10)
}

// bounded is the default layout with the bounds of latencies.
func bounded(t testing.TB) Layout {
	l := DefaultLayout(Nanosecond)
	l.Bounds = decades(t)
	return l
}

func TestNewBoundsNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values []int64
		want   string
	}{
		{[]int64{0}, "values[0] is 0:"},
		{[]int64{1, 2, -3}, "values[2] is -3:"},
		{[]int64{5, 7, 7}, "values[2] is 7, after 7:"},
		{[]int64{5, 4, 7}, "values[1] is 4, after 5:"},
		{make([]int64, 101), "there are 101:"},
	} {
		if b, err := NewBounds(test.values...); err == nil || !strings.Contains(err.Error(), test.want) || b != nil {
			t.Errorf("NewBounds(%d): %v, error %v, want one with %q", test.values, b, err, test.want)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	most := make([]int64, MaxBounds)
	for i := range most {
		most[i] = math.MaxInt64 - MaxBounds + 1 + int64(i)
	}
	for _, test := range []struct {
		values []int64
		text   string
	}{
		{nil, "none"},
		{[]int64{7}, "7"},
		{[]int64{1, 10, 1e18}, "1, 10, 1000000000000000000"},
		{most, "9223372036854775708, "},
	} {
		values := slices.Clone(test.values)
		b := newBounds(t, values...)
		if len(values) > 0 {
			values[0] = -1 // the bounds are their own
		}
		if b.Len() != len(test.values) {
			t.Errorf("%d: %d bounds", test.values, b.Len())
		}
		for i, want := range test.values {
			if b.At(i) != want {
				t.Errorf("%d: bound %d is %d", test.values, i, b.At(i))
			}
		}
		if text := b.String(); !strings.HasPrefix(text, test.text) || len(test.values) < 10 && text != test.text {
			t.Errorf("%d: text %q", test.values, text)
		}
	}
}

func TestBoundsAreEqualByValue(t *testing.T) {
	t.Parallel()
	different := []*Bounds{nil, newBounds(t, 1), newBounds(t, 2), newBounds(t, 1, 2), newBounds(t, 1, 3)}
	for i, a := range different {
		same := newBounds(t, a.list()...) // of nil: bounds that are none
		for j, b := range different {
			if got := b.Equal(same); got != (i == j) {
				t.Errorf("[%v].Equal([%v]) is %t", b, same, got)
			}
			if got := same.Equal(b); got != (i == j) {
				t.Errorf("[%v].Equal([%v]) is %t", same, b, got)
			}
		}
	}
}

// Bounds in all positions to buckets and values, each recorded in counters and
// in packed words.
func TestCountAtMost(t *testing.T) {
	t.Parallel()
	low, high := int64(1), int64(1)<<20
	for b := range snapshot(newHistogram(t, DefaultLayout(Nanosecond), 1_000_000)).All() {
		low, high = b.Low, b.High
	}
	around := []int64{low - 1, low, low + 1, 1_000_000, high - 1, high, high + 1}
	adjacent := make([]int64, MaxBounds)
	for i := range adjacent {
		adjacent[i] = 1_000_000 - 50 + int64(i)
	}
	for name, values := range map[string][]int64{
		"below the bucket":            {low - 1},
		"one above":                   {low},
		"inside":                      {1_000_000},
		"one below the end":           {high - 1},
		"its end":                     {high},
		"around it":                   around,
		"many in it":                  adjacent,
		"far below":                   {1, 2},
		"far above":                   {math.MaxInt64 - 1, math.MaxInt64},
		"inside and on both sides":    {1, 1_000_000, math.MaxInt64},
		"at both ends, none inside":   {low - 1, high},
		"inside and at the end of it": {low, low + 1, high},
	} {
		for _, schema := range []int{5, 0, MinSchema} {
			for _, times := range []int{1, promoteAt, 3 * promoteAt} {
				l := Layout{Unit: Nanosecond, Schema: schema, MaxBuckets: 640, Bounds: newBounds(t, values...)}
				var all []int64
				for range times {
					all = append(all, around...)
					all = append(all, -1, 0)
				}
				what := fmt.Sprintf("%s, schema %d, %d times", name, schema, times)
				mustEqual(t, what, snapshot(newHistogram(t, l, all...)), snapshotOf(l, all))
			}
		}
	}
}

// More packed words than a word of bits can mark.
func TestCountAtMostOfManyPackedBuckets(t *testing.T) {
	t.Parallel()
	l := DefaultLayout(Nanosecond)
	var values, bounds []int64
	first := l.index(1_000_000)
	for i := range 150 {
		b := l.bucket(first + i)
		for range promoteAt {
			values = append(values, b.Low, b.Low+1, b.High)
		}
		if i%3 == 0 {
			bounds = append(bounds, b.Low)
		}
	}
	l.Bounds = newBounds(t, bounds...)
	h := newHistogram(t, l, values...)
	mustEqual(t, "150 buckets", snapshot(h), snapshotOf(l, values))
	if n := len(h.state.Load().words.byBucket); n < 150 {
		t.Errorf("%d packed words, want at least 150", n)
	}
}

// checkBounds does at random what can be done to histograms and snapshots, and
// compares with counting.
func checkBounds(t *testing.T, r *rand.Rand, extra ...int64) {
	t.Helper()
	// A model knows what was recorded, and what of that was counted by bounds.
	type model struct {
		layout    Layout // with the schema that merging left
		all, seen []int64
	}
	want := func(m model) *Snapshot {
		s := snapshotOf(m.layout, m.all)
		s.atMost = snapshotOf(m.layout, m.seen).atMost
		return s
	}
	unit := Unit(r.IntN(units))
	both := [2]*Bounds{randomBounds(r, extra...), randomBounds(r, extra...)}

	var hs [3]*Histogram
	var models [3]model
	for i := range hs {
		l := randomLayout(r)
		l.Unit, l.Bounds = unit, both[r.IntN(2)]
		hs[i], models[i].layout = newHistogram(t, l), l
	}
	for range 1 + r.IntN(12) {
		i, j := r.IntN(len(hs)), r.IntN(len(hs))
		h, m := hs[i], &models[i]
		switch r.IntN(3) {
		case 0:
			for _, n := range append(randomValues(r, 300), extra...) {
				h.Record(n)
				m.all, m.seen = append(m.all, n), append(m.seen, n)
			}
		case 1: // merge another in, if need be with bounds that have counted nothing
			s, o := snapshot(hs[j]), models[j]
			if !s.Layout().Bounds.Equal(m.layout.Bounds) {
				s.Rebound(m.layout.Bounds)
				o.seen = nil
			}
			if err := h.Merge(s); err != nil {
				t.Fatal(err)
			}
			m.layout.Schema = min(m.layout.Schema, s.Layout().Schema)
			m.all, m.seen = slices.Concat(m.all, o.all), slices.Concat(m.seen, o.seen)
		default: // by way of a snapshot that is merged into
			s, o := snapshot(hs[j]), models[j]
			sum := model{s.Layout(), o.all, o.seen}
			if r.IntN(2) == 0 {
				mustMerge(t, s, s)
				sum.all, sum.seen = slices.Concat(o.all, o.all), slices.Concat(o.seen, o.seen)
			}
			if b := both[r.IntN(2)]; !b.Equal(sum.layout.Bounds) {
				s.Rebound(b)
				sum.layout.Bounds, sum.seen = b, nil
			}
			if s.Layout().Bounds.Equal(m.layout.Bounds) {
				mustMerge(t, s, snapshot(h))
				sum.layout.Schema = min(sum.layout.Schema, snapshot(h).Layout().Schema)
				sum.layout.MaxBuckets = min(sum.layout.MaxBuckets, m.layout.MaxBuckets)
				sum.all, sum.seen = slices.Concat(sum.all, m.all), slices.Concat(sum.seen, m.seen)
			}
			mustEqual(t, "a snapshot", s, want(sum))
		}
		mustEqual(t, "a histogram", snapshot(h), want(*m))
		if len(m.all) > 20_000 {
			return
		}
	}
}

func TestBoundsAtRandom(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 6))
	for range 500 {
		checkBounds(t, r)
	}
}

func FuzzBounds(f *testing.F) {
	f.Add(uint64(1), int64(0), int64(-1), int64(math.MaxInt64))
	f.Add(uint64(2), int64(1), int64(1<<29), int64(1<<30))
	f.Add(uint64(3), int64(999_999), int64(1_000_000), int64(1_000_001))
	f.Fuzz(func(t *testing.T, seed uint64, x, y, z int64) {
		checkBounds(t, rand.New(rand.NewPCG(seed, 0)), x, y, z)
	})
}

func TestRebound(t *testing.T) {
	t.Parallel()
	l := bounded(t)
	values := append(logNormals(1, 1000, 1), 0, 0, -1)
	s := snapshot(newHistogram(t, l, values...))

	s.Rebound(decades(t))
	mustEqual(t, "equal bounds", s, snapshotOf(l, values))

	other := l
	other.Bounds = newBounds(t, 200_000, 200_001)
	want := snapshotOf(other, values)
	want.atMost = []uint64{0, 0}
	s.Rebound(other.Bounds)
	mustEqual(t, "other bounds", s, want)

	// What is merged from now on counts, zeros too, in a snapshot and a
	// histogram.
	later := append(logNormals(2, 1000, 1), 0)
	want = snapshotOf(other, slices.Concat(values, later))
	want.atMost = snapshotOf(other, later).atMost
	h := newHistogram(t, other, later...)
	if err := h.Merge(s); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "merged into a histogram", snapshot(h), want)
	mustMerge(t, s, snapshot(newHistogram(t, other, later...)))
	mustEqual(t, "merged into a snapshot", s, want)
	mustEqual(t, "merged into the zero value", merged(t, s), want)

	s.Rebound(nil)
	if n := s.Layout().Bounds.Len(); n != 0 {
		t.Errorf("%d bounds after Rebound(nil)", n)
	}
	mustMerge(t, s, snapshot(newHistogram(t, DefaultLayout(Nanosecond), 1)))

	var zero Snapshot
	zero.Rebound(l.Bounds)
	mustEqual(t, "the zero value", &zero, &Snapshot{})
	mustMerge(t, &zero, snapshot(newHistogram(t, other, later...)))
	mustEqual(t, "the zero value, merged into", &zero, snapshotOf(other, later))
}

func TestMergeOfDifferentBounds(t *testing.T) {
	t.Parallel()
	l := DefaultLayout(Nanosecond)
	one, two := l, l
	one.Bounds, two.Bounds = newBounds(t, 10, 20), newBounds(t, 10, 30)
	for _, test := range []struct {
		into, from Layout
		want       []string
	}{
		{one, two, []string{"10, 20", "10, 30"}},
		{one, l, []string{"10, 20", "none"}},
		{l, two, []string{"none", "10, 30"}},
	} {
		h, o := newHistogram(t, test.into, 1, 15, 25), newHistogram(t, test.from, 0, -1, 15)
		s := snapshot(h)
		for name, err := range map[string]error{"Histogram.Merge": h.Merge(snapshot(o)), "Snapshot.Merge": s.Merge(snapshot(o))} {
			if err == nil || !strings.Contains(err.Error(), test.want[0]) || !strings.Contains(err.Error(), test.want[1]) {
				t.Errorf("%s: error %v, want one that names both bounds", name, err)
			}
		}
		mustEqual(t, "the histogram", snapshot(h), snapshotOf(test.into, []int64{1, 15, 25}))
		mustEqual(t, "the snapshot", s, snapshotOf(test.into, []int64{1, 15, 25}))

		same := test.into
		same.Bounds = newBounds(t, same.Bounds.list()...)
		o = newHistogram(t, same, 0, -1, 15)
		if err := h.Merge(snapshot(o)); err != nil {
			t.Errorf("bounds that are equal: %v", err)
		}
		mustMerge(t, s, snapshot(o))
		mustEqual(t, "with equal bounds", snapshot(h), s)
	}
}

// While the schema is reduced under two goroutines, by new extremes that both
// see first, every value stays with its bounds. This needs many young
// histograms: an old one is reduced no more.
func TestBoundsWhileTheSchemaIsReduced(t *testing.T) {
	t.Parallel()
	const each = 3000
	for round := range 40 {
		l := Layout{Unit: Nanosecond, Schema: 5, MaxBuckets: 12 + round, Bounds: newBounds(t, 1<<17, 199_000, 200_000, 200_001, 1<<40)}
		h := newHistogram(t, l)
		var all []int64
		var recorders, reader sync.WaitGroup
		var turn [2]atomic.Int64
		var done atomic.Bool
		for g := range turn {
			r := rand.New(rand.NewPCG(uint64(round), uint64(g)))
			values := make([]int64, each)
			for i := range values {
				values[i] = 198_000 + int64(r.IntN(4000)) // in buckets that get packed words and are cut
				if i%300 == 299 {                         // further and further out
					values[i] = []int64{200_000 >> (i / 300), 200_000 << (3 * i / 300)}[g]
				}
			}
			all = append(all, values...)
			recorders.Go(func() {
				for i, n := range values {
					if i%300 == 299 { // both at once
						turn[g].Store(int64(i))
						for spin := 0; turn[1-g].Load() < int64(i) && spin < 10_000; spin++ {
						}
					}
					h.Record(n)
				}
			})
		}
		reader.Go(func() {
			before := make([]uint64, l.Bounds.Len())
			var s Snapshot
			for !done.Load() {
				h.Snapshot(&s)
				checkConsistent(t, &s)
				checkGrown(t, &s, before)
			}
		})
		recorders.Wait()
		done.Store(true)
		reader.Wait()
		if s := snapshot(h); s.Layout().Schema > 3 {
			t.Fatalf("schema %d: too little was reduced", s.Layout().Schema)
		}
		mustEqual(t, "at the end", snapshot(h), snapshotOf(l, all))
	}
}

// checkGrown checks that no count by bounds is less than it was before.
func checkGrown(t *testing.T, s *Snapshot, before []uint64) {
	t.Helper()
	for i := range before {
		n := s.CountAtMost(i)
		if n < before[i] {
			t.Errorf("the count at most %d fell from %d to %d", s.layout.Bounds.At(i), before[i], n)
		}
		before[i] = n
	}
}
