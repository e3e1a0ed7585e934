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

// heapInUse returns the bytes of the objects that are reachable.
func heapInUse(t *testing.T) int64 {
	if raceDetector {
		t.Skip("the race detector takes memory")
	}
	// What a sync.Pool holds is dropped by the second collection.
	for range 3 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// maxHistogramSize is what a full histogram may take in bytes: that of OPA
// 1.22.0 takes it from its first value on.
const maxHistogramSize = 18_568

// TestHistogramMemory: a histogram's memory grows with its values and, with all
// that it and its collection remember of it, stays below that bound.
func TestHistogramMemory(t *testing.T) {
	const histograms = 100
	names := make([]string, histograms)
	for i := range names {
		names[i] = "histogram memory " + strconv.Itoa(i)
	}
	rng := rand.New(rand.NewPCG(10, 11))
	fill := func(values int, marshalOften bool) metrics.Metrics {
		m := metrics.New()
		for i := range values {
			for _, name := range names {
				m.Histogram(name).Update(rng.Int64N(1e12))
			}
			if marshalOften && i%50 == 0 {
				mustMarshal(t, m)
			}
		}
		for range 3 {
			mustMarshal(t, m)
			_ = m.All()
		}
		return m
	}
	heapInUse(t)
	fill(1, false) // names are remembered now

	var last int64
	for _, tc := range []struct {
		values int
		atMost int64
	}{{1, 1000}, {10, 1500}, {100, 6000}, {500, maxHistogramSize}, {1028, maxHistogramSize}, {1029, maxHistogramSize}, {5000, maxHistogramSize}} {
		for _, marshalOften := range []bool{false, true} {
			before := heapInUse(t)
			m := fill(tc.values, marshalOften)
			each := (heapInUse(t) - before) / histograms
			runtime.KeepAlive(m)
			t.Logf("%d values: %d bytes a histogram", tc.values, each)
			if each > tc.atMost {
				t.Errorf("a histogram of %d values takes %d bytes, want at most %d", tc.values, each, tc.atMost)
			}
			if tc.values <= sampleSize && each < last/2 {
				t.Errorf("a histogram of %d values takes %d bytes, one of fewer took %d", tc.values, each, last)
			}
			last = each
		}
	}
}

// TestOneOffNames: names that are used once, a million of them, leave nothing
// behind but a table of bounded size.
func TestOneOffNames(t *testing.T) {
	const atMost = 2 << 20
	var buffer []byte
	record := func(name string) {
		m := metrics.New()
		m.Timer(name)
		m.Counter(name)
		b, err := metrics.AppendJSON(buffer[:0], m)
		if err != nil {
			t.Fatal(err)
		}
		buffer = b
	}
	buffer = make([]byte, 0, 1<<20)
	before := heapInUse(t)
	for i := range 1_000_000 {
		record("one-off " + strconv.Itoa(i))
	}
	if grown := heapInUse(t) - before; grown > atMost {
		t.Errorf("after a million names, %d bytes more are in use, want at most %d", grown, atMost)
	} else {
		t.Logf("after a million names, %d bytes more are in use", grown)
	}
	long := strings.Repeat("long ", 10_000)
	for i := range 500 {
		record(long + strconv.Itoa(i))
	}
	if grown := heapInUse(t) - before; grown > atMost {
		t.Errorf("after 500 names of %d bytes, %d bytes more are in use, want at most %d", len(long), grown, atMost)
	} else {
		t.Logf("after 500 names of %d bytes, %d bytes more are in use", len(long), grown)
	}
	runtime.KeepAlive(buffer)
}

// TestNameDoesNotKeepBuffer: a name that is part of a large string does not
// keep that alive longer than the collection, though the name is remembered,
// nor do the keys of what is read.
func TestNameDoesNotKeepBuffer(t *testing.T) {
	const buffers = 20
	var weakBuffers []weak.Pointer[byte]
	var all []map[string]any
	for i := range buffers {
		s := strings.Repeat(fmt.Sprintf("%08d", i), 1<<14)
		weakBuffers = append(weakBuffers, weak.Make(unsafe.StringData(s)))
		for range 4 { // more than it takes to be remembered
			m := metrics.New()
			for kind, look := range []func(name string){
				func(name string) { m.Timer(name) },
				func(name string) { m.Counter(name) },
				func(name string) { m.Histogram(name) },
			} {
				look(s[100*kind : 100*kind+50])
			}
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
	if alive > 1 { // the last may still be in a register
		t.Errorf("%d of %d strings are alive, of which 50 bytes were names", alive, buffers)
	}
	runtime.KeepAlive(all)
}

// TestKeptPartFreesTheRest: a value that is kept from All, or a handle, keeps a
// few others alive, not those of the whole collection.
func TestKeptPartFreesTheRest(t *testing.T) {
	const names = 1000
	collection := func() metrics.Metrics {
		m := metrics.New()
		for i := range names {
			m.Counter("kept " + strconv.Itoa(i)).Add(1000 + uint64(i))
		}
		return m
	}
	m := collection()
	m.All()
	for what, part := range map[string]struct {
		keep   func() any
		atMost int64
	}{
		"value":  {func() any { return m.All()["counter_kept 500"] }, 256},
		"handle": {func() any { return collection().Counter("kept 900") }, 2500},
	} {
		kept := make([]any, 300)
		before := heapInUse(t)
		for i := range kept {
			kept[i] = part.keep()
		}
		each := (heapInUse(t) - before) / int64(len(kept))
		t.Logf("a kept %s keeps %d bytes alive", what, each)
		if each > 2*part.atMost { // what is freed or allocated elsewhere meanwhile is less
			t.Errorf("a kept %s keeps %d bytes alive, want at most %d", what, each, part.atMost)
		}
		runtime.KeepAlive(kept)
	}
	runtime.KeepAlive(m)
}

// TestStatisticsMemory: Statistics of millions of numbers takes at most 8 MB
// besides them.
func TestStatisticsMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes memory")
	}
	rng := rand.New(rand.NewPCG(15, 16))
	numbers := make([]int64, 3_000_000)
	for i := range numbers {
		numbers[i] = int64(rng.ExpFloat64() * 1e6)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	metrics.Statistics(numbers...)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("Statistics of %d numbers allocated %d bytes, want at most 8 MB", len(numbers), grown)
	}
}
