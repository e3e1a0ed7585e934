// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"math/rand/v2"
	"time"
)

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
		s.values.push(wv)
	case wv.k > s.values[0].k:
		s.values[0] = wv
		s.values.down(0, s.size)
	}
}

func (s *expDecaySample) rescale(t time.Time) {
	scale := math.Exp(-s.alpha * t.Sub(s.t0).Seconds())
	for i := range s.values {
		s.values[i].k *= scale
	}
	// Scaling every priority by the same factor preserves heap order.
	s.t0 = t
	s.t1 = t.Add(rescaleThreshold)
}
