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

	// threshold is the logarithm of the lowest priority in a full reservoir.
	threshold float64
}

type weightedValue struct {
	k float64 // priority, or until the reservoir is full the seconds since t0
	v int64
}

// order makes a heap of values in any order.
func (h sampleHeap) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i, len(h))
	}
}

func (s *expDecaySample) update(t time.Time, v int64) {
	s.mtx.Lock()
	defer s.mtx.Unlock()

	s.count++
	// Before the weight is calculated, which would be +Inf after 13 hours.
	if t.After(s.t1) {
		s.rescale(t)
	}
	dt := t.Sub(s.t0).Seconds()
	if len(s.values) < s.size {
		if len(s.values) == cap(s.values) {
			s.grow()
		}
		s.values = append(s.values, weightedValue{k: dt, v: v})
		s.described = nil
		if len(s.values) == s.size {
			s.fill()
		}
		return
	}

	r := rand.Uint64()
	// The logarithm of the priority is below this. Once there have been many
	// updates, most values are turned away here.
	if dt*s.alpha+float64(bits.LeadingZeros64(r)+1)*math.Ln2 <= s.threshold {
		return
	}
	if k := s.priority(dt, r); k > s.values[0].k {
		s.values[0] = weightedValue{k: k, v: v}
		s.values.down(0, s.size)
		s.threshold = math.Log(s.values[0].k)
		s.described = nil
	}
}

// priority returns the priority of a value that arrived dt seconds after t0,
// with a number between 0 and 1 made of random bits, which has no more leading
// zeros.
func (s *expDecaySample) priority(dt float64, r uint64) float64 {
	return math.Exp(dt*s.alpha) / ((float64(r>>11) + 0.5) / (1 << 53))
}

// fill gives the values their priorities, which matter once one has to leave.
func (s *expDecaySample) fill() {
	for i := range s.values {
		s.values[i].k = s.priority(s.values[i].k, rand.Uint64())
	}
	s.values.order()
	s.threshold = math.Log(s.values[0].k)
}

func (s *expDecaySample) rescale(t time.Time) {
	dt := t.Sub(s.t0).Seconds()
	scale := math.Exp(-s.alpha * dt)
	for i := range s.values {
		if len(s.values) < s.size {
			s.values[i].k -= dt
		} else {
			s.values[i].k *= scale
		}
	}
	// Scaling every priority by the same factor preserves heap order.
	s.threshold -= s.alpha * dt
	s.t0 = t
	s.t1 = t.Add(rescaleThreshold)
}
