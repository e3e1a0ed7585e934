// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"math/rand/v2"
	"time"
)

func newExpDecaySample(size int, alpha float64) *expDecaySample {
	now := time.Now()
	return &expDecaySample{
		alpha: alpha,
		size:  size,
		t0:    now,
		t1:    now.Add(rescaleThreshold),
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
	case wv.k > s.values[0].k:
		s.values[0] = wv
		s.values.down(0, s.size)
	}
}

// grow makes room for more values. Most histograms are short-lived and hold a
// handful of them; those that fill up copy little, since room grows fourfold.
func (s *expDecaySample) grow() {
	room := max(16, 4*cap(s.values))
	if 2*room > s.size {
		room = s.size
	}
	s.values = append(make(sampleHeap, 0, room), s.values...)
}
