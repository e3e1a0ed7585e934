// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/regometer/regometer/internal/race"
)

func newCompact(t testing.TB, l Layout, values ...int64) *Compact {
	t.Helper()
	c, err := NewCompact(l)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range values {
		c.Record(n)
	}
	return &c
}

func compactSnapshot(c *Compact) *Snapshot {
	s := new(Snapshot)
	c.Snapshot(s)
	return s
}

// TestCompactIsAHistogram: for all layouts and values, of any number, a Compact
// and a Histogram give the same.
func TestCompactIsAHistogram(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 1))
	s := new(Snapshot)
	for i := range 3000 {
		l := randomLayout(r)
		values := randomValues(r, 1<<r.IntN(12))
		c, h := newCompact(t, l), newHistogram(t, l)
		for k, n := range values {
			c.Record(n)
			h.Record(n)
			if r.IntN(100) == 0 {
				c.Snapshot(s)
				mustEqual(t, fmt.Sprint("layout ", i, " after value ", k), s, snapshot(h))
			}
		}
		c.Snapshot(s)
		mustEqual(t, fmt.Sprint("layout ", i), s, snapshot(h))
		mustEqual(t, fmt.Sprint("layout ", i), s, snapshotOf(l, values))
		for _, q := range []float64{0, 0.5, 0.99, 1} {
			if got, want := s.Quantile(q), snapshot(h).Quantile(q); got != want && !math.IsNaN(want) {
				t.Fatalf("quantile %v is %v, want %v", q, got, want)
			}
		}
	}
}

// TestMergeCompact: in whatever order and form Compacts are merged, the result
// is that of all values recorded in one histogram.
func TestMergeCompact(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 2))
	for i := range 2000 {
		l := randomLayout(r)
		empty := *newCompact(t, l)
		parts := make([]*Compact, 1+r.IntN(5))
		var all []int64
		for k := range parts {
			values := randomValues(r, 1<<r.IntN(10))
			all = append(all, values...)
			c := empty
			parts[k] = &c
			for _, n := range values {
				c.Record(n)
			}
		}
		want := snapshotOf(l, all)
		finer := l
		finer.MaxBuckets++
		for range 3 {
			r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			c, twin := empty, *newCompact(t, l)
			other, histogram := *newCompact(t, finer), newHistogram(t, finer)
			for _, p := range parts {
				before := compactSnapshot(p)
				for _, err := range []error{
					c.MergeCompact(p), twin.MergeCompact(p), other.MergeCompact(p), histogram.Merge(before),
				} {
					if err != nil {
						t.Fatal(err)
					}
				}
				c.Record(-1)
				mustEqual(t, "what was merged", compactSnapshot(p), before)
			}
			want.negatives += uint64(len(parts))
			mustEqual(t, fmt.Sprint("layout ", i), compactSnapshot(&c), want)
			want.negatives -= uint64(len(parts))
			mustEqual(t, fmt.Sprint("layout ", i, " of an equal shape"), compactSnapshot(&twin), want)
			mustEqual(t, fmt.Sprint("layout ", i, " of another shape"), compactSnapshot(&other), snapshot(histogram))
		}
	}
}

// TestCompactMergesSnapshots: a Compact takes in a snapshot of any layout as a
// Histogram does, also if other bounds have counted its values.
func TestCompactMergesSnapshots(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 3000 {
		l, from := randomLayout(r), randomLayout(r)
		from.Unit = l.Unit
		if r.IntN(2) == 0 {
			from.Schema = l.Schema
		}
		if r.IntN(2) == 0 {
			from.Bounds = l.Bounds
		}
		values := randomValues(r, 1<<r.IntN(9)) // often none
		c, h := newCompact(t, l, values...), newHistogram(t, l, values...)
		for range 1 + r.IntN(3) {
			s := snapshot(newHistogram(t, from, randomValues(r, 1<<r.IntN(10))...))
			if r.IntN(3) == 0 { // with counts that are wide
				for range r.IntN(70) {
					mustMerge(t, s, s)
				}
			}
			s.Rebound(l.Bounds)
			if err := c.Merge(s); err != nil {
				t.Fatal(err)
			}
			if err := h.Merge(s); err != nil {
				t.Fatal(err)
			}
		}
		for range r.IntN(50) {
			n := int64(r.Uint64() >> (1 + r.IntN(62)))
			c.Record(n)
			h.Record(n)
		}
		mustEqual(t, fmt.Sprint("layout ", i), compactSnapshot(c), snapshot(h))
	}
}

// TestMergeCompactLargeCounts: counts of one to eight digits, and such as
// overflow, are merged as those of snapshots are.
func TestMergeCompactLargeCounts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		l := randomLayout(r)
		empty := *newCompact(t, l)
		c, want := empty, new(Snapshot)
		for range 2 {
			part, s := empty, new(Snapshot)
			for range 1 + r.IntN(70) { // twice as many in each bucket, and some more
				values := empty
				for _, n := range randomValues(r, 1<<r.IntN(10)) {
					values.Record(n)
				}
				twin := empty
				for _, err := range []error{twin.MergeCompact(&part), part.MergeCompact(&twin), part.MergeCompact(&values)} {
					if err != nil {
						t.Fatal(err)
					}
				}
				mustMerge(t, s, s)
				mustMerge(t, s, compactSnapshot(&values))
			}
			mustEqual(t, fmt.Sprint("layout ", i, ", a part"), compactSnapshot(&part), s)
			if err := c.MergeCompact(&part); err != nil {
				t.Fatal(err)
			}
			mustMerge(t, want, s)
		}
		mustEqual(t, fmt.Sprint("layout ", i), compactSnapshot(&c), want)
	}
}

// TestCompactEdges: values at the ends of what few values are kept in, and
// merging what has a lower schema and no values.
func TestCompactEdges(t *testing.T) {
	t.Parallel()
	l := DefaultLayout(Integer)
	for _, n := range []int64{math.MinInt64, -1, 0, 1, math.MaxUint32 - 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64} {
		values := []int64{5, 6, 7, n} // there is room for the last one
		mustEqual(t, fmt.Sprint(values), compactSnapshot(newCompact(t, l, values...)), snapshotOf(l, values))
	}
	coarse := l
	coarse.Schema = 2
	reduced, values := newCompact(t, l), logNormals(1, 200, 1)
	for _, empty := range []Layout{coarse, l} { // the schema does not rise again
		if err := reduced.Merge(compactSnapshot(newCompact(t, empty))); err != nil {
			t.Fatal(err)
		}
	}
	c := newCompact(t, l, values...)
	c.shape = reduced.shape
	if err := c.MergeCompact(reduced); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "with a lower schema", compactSnapshot(c), snapshotOf(coarse, values))
}

// What is recorded after a merge is in one of the two Compacts alone.
func TestMergeCompactSharesNoMemory(t *testing.T) {
	t.Parallel()
	l := DefaultLayout(Nanosecond)
	l.Bounds = decades(t)
	empty := *newCompact(t, l)
	for n := range 100 {
		values := logNormals(1, n, 1)
		from, into := empty, empty
		for _, n := range values {
			from.Record(n)
		}
		if err := into.MergeCompact(&from); err != nil {
			t.Fatal(err)
		}
		into.Record(200_000)
		from.Record(300_000)
		mustEqual(t, fmt.Sprint(n, " values, merged"), compactSnapshot(&into), snapshotOf(l, append(values, 200_000)))
		mustEqual(t, fmt.Sprint(n, " values"), compactSnapshot(&from), snapshotOf(l, append(values, 300_000)))
	}
}

func TestCompactErrors(t *testing.T) {
	t.Parallel()
	if _, err := NewCompact(Layout{Schema: 9, MaxBuckets: 5}); err == nil {
		t.Error("no error for a schema out of range")
	}
	c := newCompact(t, DefaultLayout(Nanosecond), 1, 2, 3)
	before := compactSnapshot(c)
	bounds, err := NewBounds(5)
	if err != nil {
		t.Fatal(err)
	}
	bounded := DefaultLayout(Nanosecond)
	bounded.Bounds = bounds
	for _, l := range []Layout{DefaultLayout(Millisecond), bounded} {
		o := newCompact(t, l, 7)
		if c.MergeCompact(o) == nil || c.Merge(compactSnapshot(o)) == nil {
			t.Errorf("no error for %+v", l)
		}
	}
	if err := c.Merge(new(Snapshot)); err != nil {
		t.Error(err)
	}
	mustEqual(t, "after the errors", compactSnapshot(c), before)
}

// TestCompactMemory: what a Compact takes with so many log-normal values. It
// does not run in parallel with others, whose memory it would measure.
func TestCompactMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector changes what is allocated")
	}
	if size := unsafe.Sizeof(wide{}); size != wideSize && unsafe.Sizeof(0) == 8 {
		t.Errorf("a wide takes %d bytes, wideSize is %d", size, wideSize)
	}
	empty := *newCompact(t, DefaultLayout(Nanosecond))
	for _, test := range []struct {
		values, histograms int
		most               int64
	}{
		{1, 5000, 56}, {4, 5000, 72}, {20, 2000, 128}, {100, 1000, 480}, {1000, 500, 540}, {100_000, 20, 1200},
	} {
		values := logNormals(1, test.values, 1)
		own := int64(unsafe.Sizeof(empty))
		bytes := own + heapOf(test.histograms, test.most-own, func() Compact {
			c := empty
			for _, n := range values {
				c.Record(n)
			}
			return c
		})
		t.Logf("%6d values: %4d bytes", test.values, bytes)
		if bytes > test.most {
			t.Errorf("%d values take %d bytes, at most %d are expected", test.values, bytes, test.most)
		}
		runtime.KeepAlive(values)
	}
}

func liveBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestCompactAllocations: once the range of the values is known, recording
// allocates only for counts that get another digit.
func TestCompactAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	values := logNormals(1, 1000, 1)
	c := newCompact(t, DefaultLayout(Nanosecond))
	record := func() {
		for _, n := range values {
			c.Record(n)
		}
	}
	for range 20 {
		record()
	}
	if n := testing.AllocsPerRun(20, record); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzCompact: as TestCompactIsAHistogram, with the values from bytes.
func FuzzCompact(f *testing.F) {
	f.Add(uint64(1), []byte("some values"))
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		r := rand.New(rand.NewPCG(seed, 0))
		l := randomLayout(r)
		c, h, o := newCompact(t, l), newHistogram(t, l), newCompact(t, l)
		o.shape = c.shape
		for ; len(data) > 0; data = data[1:] {
			n := int64(data[0]) << (r.IntN(64))
			h.Record(n)
			if r.IntN(2) == 0 {
				c.Record(n)
			} else {
				o.Record(n)
			}
		}
		if err := c.MergeCompact(o); err != nil {
			t.Fatal(err)
		}
		mustEqual(t, "merged", compactSnapshot(c), snapshot(h))
	})
}

// BenchmarkCompact records log-normal values, beside a Histogram and beside
// what bounds it from below: adding the values up (impl=sum).
func BenchmarkCompact(b *testing.B) {
	values := logNormals(1, 1024, 1)
	b.Run("impl=compact", func(b *testing.B) {
		c := newCompact(b, DefaultLayout(Nanosecond), values...)
		i := 0
		for b.Loop() {
			c.Record(values[i&1023])
			i++
		}
	})
	b.Run("impl=compact-few", func(b *testing.B) { // 20 values each, made anew
		empty := *newCompact(b, DefaultLayout(Nanosecond))
		c, i := empty, 0
		for b.Loop() {
			if i%20 == 0 {
				c = empty
			}
			c.Record(values[i&1023])
			i++
		}
	})
	b.Run("impl=histogram", func(b *testing.B) {
		h := newHistogram(b, DefaultLayout(Nanosecond), values...)
		i := 0
		for b.Loop() {
			h.Record(values[i&1023])
			i++
		}
	})
	b.Run("impl=sum", func(b *testing.B) {
		i, sum := 0, int64(0)
		for b.Loop() {
			sum += values[i&1023]
			i++
		}
		if sum == 0 {
			b.Fatal("no values")
		}
	})
}
