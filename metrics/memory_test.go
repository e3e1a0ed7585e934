// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"
	"weak"

	"github.com/regometer/regometer/metrics"
)

// bytesKept returns the bytes that f leaves in use: those of its result, and
// those that the package keeps.
func bytesKept(t *testing.T, f func() any) int64 {
	if raceDetector {
		t.Skip("the race detector needs memory")
	}
	inUse := func() int64 {
		for range 3 { // the second collection empties each sync.Pool
			runtime.GC()
		}
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before := inUse()
	result := f()
	kept := inUse() - before
	runtime.KeepAlive(result)
	return kept
}

// TestHistogramMemory checks that a histogram's memory grows with its values.
// It includes the memory that the collection keeps for the histogram.
func TestHistogramMemory(t *testing.T) {
	const histograms = 100
	names := namesOf("histogram memory ", histograms)
	rng := rand.New(rand.NewPCG(10, 11))
	fill := func(values int) any {
		m := metrics.New()
		for i := range values {
			for _, name := range names {
				m.Histogram(name).Update(rng.Int64N(1e12))
			}
			if i%50 == 0 {
				mustMarshal(t, m)
			}
		}
		for range 3 {
			mustMarshal(t, m)
			m.All()
		}
		return m
	}
	fill(1) // the catalog has the names now

	const full = 18_568 // bytes of a histogram of OPA 1.22.0 with a single value
	last := int64(0)
	for _, tc := range []struct {
		values int
		most   int64
	}{{1, 1000}, {10, 1500}, {100, 6000}, {500, full}, {1028, full}, {1029, full}, {5000, full}} {
		each := bytesKept(t, func() any { return fill(tc.values) }) / histograms
		if each > tc.most || tc.values <= sampleSize && each < last/2 {
			t.Errorf("a histogram with %d values takes %d bytes, want at most %d; with fewer values it took %d", tc.values, each, tc.most, last)
		}
		last = each
	}
}

// TestOneOffNames checks that names that are used once leave nothing behind
// except a table of bounded size.
func TestOneOffNames(t *testing.T) {
	buffer := make([]byte, 0, 1<<20)
	for prefix, n := range map[string]int{"one-off": 1_000_000, strings.Repeat("long ", 10_000): 500} {
		kept := bytesKept(t, func() any {
			for i := range n {
				m := metrics.New()
				m.Timer(prefix + strconv.Itoa(i))
				m.Counter(prefix + strconv.Itoa(i))
				if _, err := metrics.AppendJSON(buffer[:0], m); err != nil {
					t.Fatal(err)
				}
			}
			return nil
		})
		if kept > 2<<20 {
			t.Errorf("%d names of %d bytes leave %d bytes in use, want at most 2 MB", n, len(prefix), kept)
		}
	}
}

// TestNameDoesNotKeepBuffer checks that a name that is part of a large string
// does not keep the string alive longer than the collection. The catalog and
// the keys of All have a copy of the name.
func TestNameDoesNotKeepBuffer(t *testing.T) {
	const buffers = 20
	var weakBuffers []weak.Pointer[byte]
	var all []map[string]any
	for i := range buffers {
		s := strings.Repeat(fmt.Sprintf("%08d", i), 1<<14)
		weakBuffers = append(weakBuffers, weak.Make(unsafe.StringData(s)))
		for range 4 { // the second time, the name enters the catalog
			m := metrics.New()
			m.Timer(s[:50])
			m.Counter(s[100:150])
			m.Histogram(s[200:250])
			mustMarshal(t, m)
			all = append(all, m.All())
			m.Clear()
			m.Timer(s[:50])
			m.Clear()
		}
	}
	for range 5 {
		runtime.GC()
	}
	alive := 0
	for _, w := range weakBuffers {
		if w.Value() != nil {
			alive++
		}
	}
	if alive > 1 { // a register may hold the last one
		t.Errorf("%d of %d strings are alive, of which 50 bytes were names", alive, buffers)
	}
	runtime.KeepAlive(all)
}

// TestKeptPartFreesTheRest checks that a kept value of All, or a kept handle,
// keeps few others of its collection alive.
func TestKeptPartFreesTheRest(t *testing.T) {
	const parts = 300
	collection := func() metrics.Metrics {
		m := metrics.New()
		for i := range 1000 {
			m.Counter("kept " + strconv.Itoa(i)).Add(1000 + uint64(i))
		}
		return m
	}
	m := collection()
	m.All()
	for what, part := range map[string]struct {
		keep func() any
		most int64
	}{
		"value":  {func() any { return m.All()["counter_kept 500"] }, 512},
		"handle": {func() any { return collection().Counter("kept 900") }, 5000},
	} {
		each := bytesKept(t, func() any {
			kept := make([]any, parts)
			for i := range kept {
				kept[i] = part.keep()
			}
			return kept
		}) / parts
		if each > part.most {
			t.Errorf("a kept %s keeps %d bytes alive, want at most %d", what, each, part.most)
		}
	}
	runtime.KeepAlive(m)
}
