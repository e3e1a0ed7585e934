// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"time"
)

// expDecaySample is a forward-decaying priority reservoir, see Cormode et
// al's "Forward Decay: A Practical Time Decay Model for Streaming Systems"
// (ICDE 2009). It keeps a fixed number of values, biased towards recent
// ones. The algorithm and its
// parameters follow github.com/rcrowley/go-metrics' ExpDecaySample, which
// OPA used before that project was archived.
type expDecaySample struct {
	mtx    sync.Mutex
	alpha  float64
	size   int
	count  int64
	t0, t1 time.Time
	values sampleHeap

	// described is the summary of the values, but for the count, or nil if
	// they have changed. Most updates of a full reservoir change nothing.
	described *summary
}

func (s *expDecaySample) update(t time.Time, v int64) {
	s.mtx.Lock()
	defer s.mtx.Unlock()

	s.count++
	// Before the weight is calculated, which would be +Inf after 13 hours.
	if t.After(s.t1) {
		s.rescale(t)
	}
	wv := weightedValue{
		k: math.Exp(t.Sub(s.t0).Seconds()*s.alpha) / (1 - rand.Float64()), // not by 0
		v: v,
	}
	switch {
	case len(s.values) < s.size:
		if len(s.values) == cap(s.values) {
			s.grow()
		}
		s.values.push(wv)
		s.described = nil
	case wv.k > s.values[0].k:
		s.values[0] = wv
		s.values.down(0, s.size)
		s.described = nil
	}
}

// summary describes the values that are in the reservoir, and counts all
// updates.
func (s *expDecaySample) summary() summary {
	s.mtx.Lock()
	defer s.mtx.Unlock()

	if s.described == nil {
		_, values := s.snapshot()
		s.described = summarize(values)
	}
	described := *s.described
	described.count = s.count
	return described
}

// snapshot returns the total number of updates and a copy of the values
// currently held in the reservoir. s.mtx is held.
func (s *expDecaySample) snapshot() (int64, []int64) {
	values := make([]int64, len(s.values))
	for i, wv := range s.values {
		values[i] = wv.v
	}
	return s.count, values
}

func mean(values []int64) float64 {
	if len(values) == 0 {
		return 0
	}
	var hi, lo, carry uint64 // the sum, in 128 bits
	for _, v := range values {
		lo, carry = bits.Add64(lo, uint64(v), 0)
		hi += uint64(v>>63) + carry
	}
	sum := float64(int64(lo))
	if int64(hi) != int64(lo)>>63 {
		sum = float64(int64(hi))*(1<<64) + float64(lo)
	}
	return sum / float64(len(values))
}

// summary is what a histogram tells about its values.
type summary struct {
	count, minV, maxV int64
	mean, stdDev      float64
	percentiles       []float64 // those in percentileRanks
}

var percentileRanks = []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999}

// summarize describes values, which it sorts in place.
func summarize(values []int64) *summary {
	s := summary{mean: mean(values), stdDev: stdDev(values)}
	s.percentiles = percentiles(values, percentileRanks)
	if len(values) > 0 {
		s.minV, s.maxV = values[0], values[len(values)-1]
	}
	return &s
}

func (s *summary) value() map[string]any {
	return map[string]any{
		"count":  s.count,
		"min":    s.minV,
		"max":    s.maxV,
		"mean":   s.mean,
		"stddev": s.stdDev,
		"median": s.percentiles[0],
		"75%":    s.percentiles[1],
		"90%":    s.percentiles[2],
		"95%":    s.percentiles[3],
		"99%":    s.percentiles[4],
		"99.9%":  s.percentiles[5],
		"99.99%": s.percentiles[6],
	}
}
