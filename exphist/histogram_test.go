// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/regometer/regometer/internal/race"
)

// latencies is the default layout with explicit bounds.
func latencies(t testing.TB) Layout {
	l := DefaultLayout(Nanosecond)
	l.Bounds = newBounds(t, 1e4, 5e4, 1e5, 5e5, 1e6, 5e6, 1e7, 5e7, 1e8, 1e9, 1e10)
	return l
}

// packedWord returns the packed word that counts n, or nil.
func (h *Histogram) packedWord(n int64) *atomic.Uint64 {
	s := h.state.Load()
	slot := h.grid.Position(n)>>s.shift - s.words.first
	if slot < 0 || slot >= len(s.words.byBucket) {
		return nil
	}
	return s.word(slot, n, h.grid, h.layout.Bounds)
}

// A packed word is emptied before its count or its sum overflows.
func TestRecordManyOfOneBucket(t *testing.T) {
	t.Parallel()
	fine := DefaultLayout(Nanosecond)
	coarse := Layout{Unit: Integer, Schema: 0, MaxBuckets: 640}
	coarsest := Layout{Unit: Integer, Schema: MinSchema, MaxBuckets: 640}
	for _, test := range []struct {
		layout  Layout
		n       int64
		buckets int
		packed  bool
	}{
		{fine, 1, 1, true},              // no excess
		{fine, 1_000_000, chunk, true},  // one of them has the first packed word, and one the last
		{fine, 1_000_000_000, 1, true},  // a bucket of 20 ms
		{fine, 24_000_000_000, 1, true}, // about the widest with a packed word
		{fine, 1_000_000_000_000, 1, false},
		{fine, math.MaxInt64, 1, false},
		{coarse, 1 << 30, 1, true}, // exactly the widest: 2^29
		{coarse, 1 << 31, 1, false},
		{coarsest, 1 << 16, 1, true},
		{coarsest, math.MaxInt64, 1, false},
	} {
		for i := range test.buckets {
			l := test.layout
			b := l.bucket(l.index(test.n) + i)
			n := b.High // the greatest excess
			for _, bounds := range []*Bounds{nil, newBounds(t, max(n-1, 1)), newBounds(t, slices.Compact([]int64{max(n-2, 1), max(n-1, 1), n})...)} {
				l.Bounds = bounds
				for n := n; n >= max(b.Low, b.High-1); n-- { // above the bound, and the bound itself
					const times = 140_000 // more than a word can count
					h := newHistogram(t, l)
					for range times {
						h.Record(n)
					}
					if packed := h.packedWord(n) != nil; packed != test.packed {
						t.Errorf("%d in %+v: it has a packed word: %t, want %t", n, l, packed, test.packed)
					}
					want := model{l, multiset{n: times}, multiset{n: times}}
					mustEqual(t, fmt.Sprintf("%d in %+v", n, l), snapshot(h), want.snapshot())
				}
			}
		}
	}
}

func TestAllocations(t *testing.T) {
	for _, l := range []Layout{DefaultLayout(Nanosecond), latencies(t)} {
		t.Run(fmt.Sprintf("bounds=%d", l.Bounds.Len()), func(t *testing.T) { testAllocations(t, l) })
	}
}

func testAllocations(t *testing.T, l Layout) {
	values := logNormals(1, 4096, 1)
	h := newHistogram(t, l)
	for range 2 * promoteAt {
		for _, n := range values {
			h.Record(n)
		}
	}
	var s Snapshot
	h.Snapshot(&s)
	quantiles := make([]float64, 0, 7)
	other := newHistogram(t, l)
	falling := int64(1 << 32)
	falls := newHistogram(t, l, slices.Repeat([]int64{falling}, 2*promoteAt)...)
	for name, f := range map[string]func(){
		"Record": func() {
			for _, n := range values {
				h.Record(n)
			}
			h.Record(0)
			h.Record(-1)
		},
		"Record in wide buckets": func() {
			for range 2 * promoteAt {
				other.Record(math.MaxInt64)
			}
		},
		"Record of new extremes in a bucket with a packed word": func() {
			for range promoteAt {
				falling--
				falls.Record(falling)
			}
		},
		"Record of as many as fill a packed word": func() {
			for range 70_000 {
				h.Record(500_000) // a bound
			}
		},
		"Snapshot":        func() { h.Snapshot(&s) },
		"AppendQuantiles": func() { quantiles = s.AppendQuantiles(quantiles[:0], .5, .75, .9, .95, .99, .999, .9999) },
		"Snapshot.Merge": func() {
			if err := s.Merge(&s); err != nil {
				t.Error(err)
			}
		},
	} {
		f()
		if n := testing.AllocsPerRun(10, f); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}

func TestMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector changes what is allocated")
	}
	for _, test := range []struct {
		layout      Layout
		most, least int64 // bytes of a histogram with many values, and of one with 10,000
	}{{DefaultLayout(Nanosecond), 12 << 10, 1024}, {latencies(t), 12 << 10, 1280}} {
		l := test.layout
		for _, sigma := range []float64{0.1, 0.25, 0.5, 0.75, 1, 1.5} {
			values := logNormals(1, 10_000, sigma)
			checkMemory(t, fmt.Sprintf("10,000 latencies, σ = %v", sigma), test.least, func() *Histogram { return newHistogram(t, l, values...) })
		}

		// Each of 640 buckets has a count above 32 bits, and a packed word.
		full := newModel(l)
		for i := range l.MaxBuckets {
			full.all[l.bucket(l.index(1000)+i).High] = 1 << 33
		}
		s := full.snapshot()
		if len(s.counts) != 640 {
			t.Fatalf("%d buckets, want 640", len(s.counts))
		}
		checkMemory(t, "640 full buckets", test.most, func() *Histogram {
			h := newHistogram(t, l)
			if err := h.Merge(s); err != nil {
				t.Fatal(err)
			}
			for n := range full.all {
				h.Record(n)
			}
			return h
		})
	}
}

// checkMemory checks that a histogram takes no more bytes than allowed. It
// measures three times, because the runtime may allocate something meanwhile.
func checkMemory(t *testing.T, name string, allowed int64, create func() *Histogram) {
	t.Helper()
	least := int64(math.MaxInt64)
	for range 3 {
		var histograms [100]*Histogram
		before := liveBytes()
		for i := range histograms {
			histograms[i] = create()
		}
		least = min(least, (liveBytes()-before)/int64(len(histograms)))
		runtime.KeepAlive(&histograms)
		if least <= allowed {
			break
		}
	}
	t.Logf("%s: %d bytes", name, least)
	if least > allowed {
		t.Errorf("%s: %d bytes, want %d or fewer", name, least, allowed)
	}
}

func liveBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
