// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/regometer/regometer/internal/race"
)

// latencies is the default layout with explicit bounds.
func latencies() Layout {
	l := Layout{Unit: Nanosecond}.complete()
	l.Bounds = []int64{1e4, 5e4, 1e5, 5e5, 1e6, 5e6, 1e7, 5e7, 1e8, 1e9, 1e10}
	return l
}

// A counter gets more bits before it overflows, and its neighbours keep their
// counts.
func TestRecordManyOfOneBucket(t *testing.T) {
	t.Parallel()
	want := newModel(latencies(), 999_999, 1_020_000, 1_040_000, 1_060_000)
	h := newHistogram(want.layout, 999_999, 1_020_000, 1_040_000, 1_060_000)
	for times := range uint64(140_000) {
		h.Record(1_000_000)
		if times&(times+1) == 0 || times&(times-1) == 0 {
			want.all[1_000_000], want.bounded[1_000_000] = times+1, times+1
			mustEqual(t, fmt.Sprint(times+1), snapshot(h), want.snapshot())
		}
	}
}

func TestAllocations(t *testing.T) {
	for _, l := range []Layout{Layout{Unit: Nanosecond}.complete(), latencies()} {
		t.Run(fmt.Sprintf("bounds=%d", len(l.Bounds)), func(t *testing.T) { testAllocations(t, l) })
	}
}

func testAllocations(t *testing.T, l Layout) {
	values := logNormals(1, 4096, 1)
	h := newHistogram(l)
	for range 200 {
		for _, n := range values {
			h.Record(n)
		}
	}
	var s Snapshot
	h.Snapshot(&s)
	quantiles := make([]float64, 0, 7)
	for name, f := range map[string]func(){
		"Record": func() {
			for _, n := range values {
				h.Record(n)
			}
			h.Record(0)
			h.Record(-1)
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
	}{{Layout{Unit: Nanosecond}.complete(), 6 << 10, 800}, {latencies(), 6 << 10, 1000}} {
		l := test.layout
		for _, sigma := range []float64{0.1, 0.25, 0.5, 0.75, 1, 1.5} {
			values := logNormals(1, 10_000, sigma)
			checkMemory(t, fmt.Sprintf("10,000 latencies, σ = %v", sigma), test.least, func() *Histogram { return newHistogram(l, values...) })
		}

		// Each of 640 buckets has a count above 32 bits.
		full := newModel(l)
		for i := range l.MaxBuckets {
			_, high := l.limits(l.index(1000) + i)
			full.all[high] = 1 << 33
		}
		s := full.snapshot()
		if len(s.counts) != 640 {
			t.Fatalf("%d buckets, want 640", len(s.counts))
		}
		checkMemory(t, "640 full buckets", test.most, func() *Histogram {
			h := newHistogram(l)
			if err := h.Merge(s); err != nil {
				t.Fatal(err)
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
