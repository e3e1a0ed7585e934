// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package ideas

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/regometer/regometer/exphist"
)

// plainHistogram is what a histogram of exphist would be without packed words:
// a count for each of 640 buckets and a sum, in words of their own. It finds a
// bucket just as exphist does.
type plainHistogram struct {
	least, most atomic.Int64
	sum         atomic.Uint64
	counts      [640]atomic.Uint64 // from 1 to 2^20
}

const octave = 32 // buckets from one power of two to the next

// bucketEnds holds the largest integer below each bucket, and boundsBelow how
// many bounds between two powers of two lie below each of 512 intervals.
var bucketEnds, boundsBelow = func() (ends [20*octave + 2]int64, below [512]uint16) {
	for i := range ends {
		ends[i] = int64(math.Exp2(float64(i-1) / octave))
	}
	ends[0] = 0
	for interval := range below {
		for k := range octave {
			if math.Exp2(float64(k)/octave) < 1+float64(interval)/512 {
				below[interval]++
			}
		}
	}
	return ends, below
}()

func newPlainHistogram() *plainHistogram {
	h := new(plainHistogram)
	h.least.Store(math.MaxInt64)
	return h
}

func (h *plainHistogram) Record(n int64) {
	if n < h.least.Load() || n > h.most.Load() {
		for least := h.least.Load(); n < least && !h.least.CompareAndSwap(least, n); least = h.least.Load() {
		}
		for most := h.most.Load(); n > most && !h.most.CompareAndSwap(most, n); most = h.most.Load() {
		}
	}
	zeros := bits.LeadingZeros64(uint64(n))
	bucket := (63-zeros)*octave + int(boundsBelow[uint64(n)<<(zeros&63)<<1>>(64-9)])
	bucket += int(uint64(bucketEnds[bucket+1]-n) >> 63)
	h.counts[bucket].Add(1)
	h.sum.Add(uint64(n))
}

// histogramContents is what a scrape needs.
type histogramContents struct {
	count, sum  uint64
	least, most int64
	buckets     []uint64 // from the first with a value to the last
}

func (h *plainHistogram) Snapshot(s *histogramContents) {
	s.buckets, s.count = s.buckets[:0], 0
	used := 0
	for i := range h.counts {
		n := h.counts[i].Load()
		if n == 0 && s.count == 0 {
			continue
		}
		s.buckets = append(s.buckets, n)
		s.count += n
		if n > 0 {
			used = len(s.buckets)
		}
	}
	s.buckets = s.buckets[:used]
	s.sum, s.least, s.most = h.sum.Load(), h.least.Load(), h.most.Load()
}

// latencies are in microseconds, with a median of 200.
var latencies = func() []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	list := make([]int64, 1<<12)
	for i := range list {
		list[i] = min(max(int64(200*math.Exp(r.NormFloat64())), 1), 1<<20-1)
	}
	return list
}()

func plainRecord() func() histogramContents {
	h, s := newPlainHistogram(), histogramContents{}
	return func() histogramContents {
		for _, n := range latencies {
			h.Record(n)
		}
		h.Snapshot(&s)
		return s
	}
}

func packedRecord() func() histogramContents {
	h, s := exphist.New(exphist.Integer), exphist.Snapshot{}
	return func() histogramContents {
		for _, n := range latencies {
			h.Record(n)
		}
		h.Snapshot(&s)
		_, buckets := s.Buckets()
		_, sum := s.Sum()
		return histogramContents{s.Count(), sum, s.Min(), s.Max(), buckets}
	}
}

// BenchmarkHistogram records into one histogram by one goroutine or two, and
// says how large one is after 10,000 values.
func BenchmarkHistogram(b *testing.B) {
	type recorder interface{ Record(int64) }
	for _, goroutines := range []int{1, 2} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			impls := []string{"without", "with"}
			if *reverse {
				slices.Reverse(impls)
			}
			for _, impl := range impls {
				b.Run("impl="+impl, func(b *testing.B) {
					fresh := func() recorder { return newPlainHistogram() }
					if impl == "with" {
						fresh = func() recorder { return exphist.New(exphist.Integer) }
					}
					record := func(h recorder, n int) {
						switch h := h.(type) { // no call by way of the interface is measured
						case *plainHistogram:
							for i := range n {
								h.Record(latencies[i%len(latencies)])
							}
						case *exphist.Histogram:
							for i := range n {
								h.Record(latencies[i%len(latencies)])
							}
						}
					}
					h := fresh()
					record(h, 1<<19)
					b.ResetTimer()
					done := make(chan struct{})
					for range goroutines {
						go func() {
							record(h, b.N/goroutines)
							done <- struct{}{}
						}()
					}
					for range goroutines {
						<-done
					}
					b.StopTimer()
					hs := make([]recorder, 100)
					before := heapInUse()
					for i := range hs {
						hs[i] = fresh()
						record(hs[i], 10_000)
					}
					b.ReportMetric(float64(heapInUse()-before)/float64(len(hs)), "B/histogram")
					runtime.KeepAlive(hs)
				})
			}
		})
	}
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkSnapshotMeanwhile says how many of the snapshots that are taken
// while others record have a count and a sum of different values.
func BenchmarkSnapshotMeanwhile(b *testing.B) {
	const value = 1000
	for _, impl := range []string{"without", "with"} {
		b.Run("impl="+impl, func(b *testing.B) {
			plain, packed := newPlainHistogram(), exphist.New(exphist.Integer)
			record := plain.Record
			if impl == "with" {
				record = packed.Record
			}
			for range 200 {
				record(value)
			}
			var stop atomic.Bool
			stopped := make(chan struct{})
			go func() {
				for !stop.Load() {
					record(value)
				}
				close(stopped)
			}()
			var s histogramContents
			var p exphist.Snapshot
			wrong := 0
			for b.Loop() {
				if impl == "with" {
					packed.Snapshot(&p)
					_, s.sum = p.Sum()
					s.count = p.Count()
				} else {
					plain.Snapshot(&s)
				}
				if s.sum != s.count*value {
					wrong++
				}
			}
			stop.Store(true)
			<-stopped
			b.ReportMetric(100*float64(wrong)/float64(b.N), "%wrong")
		})
	}
}
