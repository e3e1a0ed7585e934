// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// expDecaySample is a forward-decaying priority reservoir, see Cormode et
// al's "Forward Decay: A Practical Time Decay Model for Streaming Systems"
// (ICDE 2009). It keeps a fixed number of values, biased towards recent
// ones. The algorithm and its
// parameters follow github.com/rcrowley/go-metrics' ExpDecaySample, which
// OPA used before that project was archived. Priorities are logarithms, which
// never leave the range of a float64.
type expDecaySample struct {
	mtx    sync.Mutex
	alpha  float64
	size   int
	count  int64
	t0     time.Duration // since the program started
	values sampleHeap
}

func newExpDecaySample(size int, alpha float64) *expDecaySample {
	return &expDecaySample{
		alpha:  alpha,
		size:   size,
		t0:     elapsed(),
		values: make(sampleHeap, 0, min(size, 16)),
	}
}

func (s *expDecaySample) Update(v int64) {
	s.update(elapsed(), v)
}

func (s *expDecaySample) update(t time.Duration, v int64) {
	s.mtx.Lock()
	defer s.mtx.Unlock()

	s.count++
	// rand.Float64 may return 0, but not 1.
	wv := weightedValue{k: s.alpha*(t-s.t0).Seconds() - math.Log(1-rand.Float64()), v: v}
	switch {
	case len(s.values) < s.size:
		s.values.push(wv)
	case wv.k > s.values[0].k:
		s.values[0] = wv
		s.values.down(0, s.size)
	}
}
