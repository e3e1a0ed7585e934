// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package peers has the benchmarks of docs/performance.md that compare
// implementations within one binary: benchstat compares them by /impl.
package peers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	victoriametrics "github.com/VictoriaMetrics/metrics"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/regometer/regometer/exphist"
)

// A histogram is a histogram of one of the implementations. record records n
// latencies, from number start on. Each implementation has a loop of its own,
// so that no call of an interface is measured. read reads everything that the
// histogram's exporter needs, and returns the count.
type histogram struct {
	record func(start, n int)
	read   func() uint64
}

const values = 1 << 14 // a power of two

// The latencies are log-normal around 200 µs.
var nanoseconds, seconds = func() (ns [values]int64, s [values]float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range ns {
		ns[i] = int64(200e3 * math.Exp(r.NormFloat64()))
		s[i] = float64(ns[i]) / 1e9
	}
	return ns, s
}()

// Each has the resolution and the limit of our default layout. VictoriaMetrics
// has 18 buckets for each power of ten.
var impls = []struct {
	name string
	make func() histogram
}{
	{"regometer", newRegometer},
	{"prometheus", newPrometheus},
	{"victoriametrics", newVictoriaMetrics},
}

func newRegometer() histogram {
	h := exphist.New(exphist.Layout{Unit: exphist.Nanosecond})
	var s *exphist.Snapshot // made by the first read: it is no part of a histogram
	return histogram{
		record: func(start, n int) {
			for i := range n {
				h.Record(nanoseconds[(start+i)%values])
			}
		},
		read: func() uint64 {
			if s == nil {
				s = new(exphist.Snapshot)
			}
			h.Snapshot(s)
			return s.Count()
		},
	}
}

func newPrometheus() histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:                           "latency_seconds",
		NativeHistogramBucketFactor:    1.0219, // schema 5
		NativeHistogramMaxBucketNumber: 640,
	})
	return histogram{
		record: func(start, n int) {
			for i := range n {
				h.Observe(seconds[(start+i)%values])
			}
		},
		read: func() uint64 {
			var m dto.Metric
			if err := h.Write(&m); err != nil {
				panic(err)
			}
			return m.GetHistogram().GetSampleCount()
		},
	}
}

func newVictoriaMetrics() histogram {
	h := new(victoriametrics.Histogram)
	return histogram{
		record: func(start, n int) {
			for i := range n {
				h.Update(seconds[(start+i)%values])
			}
		},
		read: func() (count uint64) {
			h.VisitNonZeroBuckets(func(_ string, n uint64) { count += n })
			return count
		},
	}
}

// BenchmarkRecord records into one histogram, with one goroutine and with two.
func BenchmarkRecord(b *testing.B) {
	for _, goroutines := range []int{1, 2} {
		for _, impl := range impls {
			b.Run(fmt.Sprintf("goroutines=%d/impl=%s", goroutines, impl.name), func(b *testing.B) {
				h := impl.make()
				h.record(0, 40*values) // it knows the range
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				for g := range goroutines {
					wg.Go(func() { h.record(g*values/2, (b.N+g)/goroutines) })
				}
				wg.Wait()
				if got, want := h.read(), uint64(40*values+b.N); got != want {
					b.Fatalf("count is %d, want %d", got, want)
				}
			})
		}
	}
}

// BenchmarkRead reads a histogram for export.
func BenchmarkRead(b *testing.B) {
	for _, impl := range impls {
		b.Run("impl="+impl.name, func(b *testing.B) {
			h := impl.make()
			h.record(0, 40*values)
			b.ReportAllocs()
			for b.Loop() {
				h.read()
			}
		})
	}
}

// BenchmarkMemory measures the growth of the heap by a histogram of 10,000
// latencies, without the memory that all histograms share.
func BenchmarkMemory(b *testing.B) {
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	for _, impl := range impls {
		b.Run("impl="+impl.name, func(b *testing.B) {
			for b.Loop() {
				impl.make().record(0, 1) // what all share
				var all [200]histogram
				before := heap()
				for i := range all {
					all[i] = impl.make()
					all[i].record(0, 10_000)
				}
				grown := heap() - before
				runtime.KeepAlive(all)
				b.ReportMetric(float64(grown/len(all)), "B/histogram")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
