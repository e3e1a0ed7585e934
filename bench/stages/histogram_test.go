// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/regometer/regometer/bench"
	"github.com/regometer/regometer/exphist"
)

// warm is the number of times that each latency is recorded before a
// measurement.
const warm = 40

// BenchmarkRecord records latencies into one histogram. The closer they are
// together, the more two goroutines contend for the same buckets.
func BenchmarkRecord(b *testing.B) {
	for _, sigma := range []float64{0.25, 1} {
		l := logNormal(sigma)
		for _, goroutines := range []int{1, 2} {
			b.Run(fmt.Sprintf("sigma=%v/goroutines=%d", sigma, goroutines), func(b *testing.B) {
				for _, impl := range impls {
					b.Run("impl="+impl.name, func(b *testing.B) { benchmarkRecord(b, impl.create(), l, goroutines) })
				}
				b.Run("impl=floor", func(b *testing.B) { benchmarkRecord(b, newAtomicAdd(), l, goroutines) })
			})
		}
	}
}

func benchmarkRecord(b *testing.B, s histogram, l latencies, goroutines int) {
	s.record(l, 0, warm*values)
	var started atomic.Int64
	bench.Spread(b, goroutines, func(n int) {
		s.record(l, int(started.Add(1))*values/goroutines, n)
	})
}

// BenchmarkRead reads a histogram for export.
func BenchmarkRead(b *testing.B) {
	l := logNormal(1)
	for _, impl := range impls {
		b.Run("sigma=1/impl="+impl.name, func(b *testing.B) {
			s := impl.create()
			s.record(l, 0, warm*values)
			b.ReportAllocs()
			for b.Loop() {
				if n := s.read(); n != warm*values {
					b.Fatalf("count is %d, want %d", n, warm*values)
				}
			}
		})
	}
}

// BenchmarkQuantiles takes seven quantiles from a snapshot. The peers leave
// them to a query language.
func BenchmarkQuantiles(b *testing.B) {
	b.Run("sigma=1/impl=regometer", func(b *testing.B) {
		h := exphist.New(exphist.Layout{Unit: exphist.Nanosecond})
		for _, n := range logNormal(1).nanoseconds {
			h.Record(n)
		}
		var s exphist.Snapshot
		h.Snapshot(&s)
		var quantiles []float64
		b.ReportAllocs()
		for b.Loop() {
			quantiles = s.AppendQuantiles(quantiles[:0], .5, .75, .9, .95, .99, .999, .9999)
		}
	})
}

// BenchmarkMemory measures the growth of the heap by another histogram of
// 10,000 latencies. It leaves out the memory that all histograms share.
func BenchmarkMemory(b *testing.B) {
	for _, sigma := range []float64{0.25, 0.5, 1, 1.5} {
		l := logNormal(sigma)
		for _, impl := range impls {
			b.Run(fmt.Sprintf("sigma=%v/impl=%s", sigma, impl.name), func(b *testing.B) {
				create := impl.create
				if impl.name == "opentelemetry" {
					create = newOpenTelemetry() // all of one instrument
				}
				for b.Loop() {
					b.ReportMetric(float64(memory(create, l)), "B/histogram")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func memory(create func() histogram, l latencies) int {
	create().record(l, 0, 1) // all histograms share this memory
	all := make([]histogram, 200)
	before := heap()
	for i := range all {
		all[i] = create()
		all[i].record(l, 0, 10_000)
	}
	grown := heap() - before
	runtime.KeepAlive(all)
	return grown / len(all)
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// The times of an implementation say nothing unless it records everything.
func TestPeersAgree(t *testing.T) {
	t.Parallel()
	l := logNormal(1)
	for _, impl := range impls {
		s := impl.create()
		s.record(l, 5, 3*values)
		if n := s.read(); n != 3*values {
			t.Errorf("%s: count is %d, want %d", impl.name, n, 3*values)
		}
	}
}
