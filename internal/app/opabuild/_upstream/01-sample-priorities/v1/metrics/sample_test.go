// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"slices"
	"testing"
	"time"
)

// A new value has to compete by its priority, like those that are there.
func TestExpDecaySampleKeepsByPriority(t *testing.T) {
	newest := 0
	for range 1000 {
		s := newExpDecaySample(1, 0.015)
		start := s.t0
		s.update(start, 1)
		s.update(start, 2)
		if _, values := s.snapshot(); values[0] == 2 {
			newest++
		}
	}
	// One half is expected, with a standard deviation of 16.
	if newest < 350 || newest > 650 {
		t.Errorf("expected the second of two values to be kept 500 times in 1000, got %d", newest)
	}
}

func TestHistogramUpdateAllocs(t *testing.T) {
	h := newHistogram()
	for i := range int64(2000) {
		h.Update(i)
	}
	if allocs := testing.AllocsPerRun(1000, func() { h.Update(1) }); allocs > 0 {
		t.Errorf("expected no allocation, got %v", allocs)
	}
}

func TestExpDecaySampleIdle(t *testing.T) {
	for _, idle := range []time.Duration{2 * time.Hour, 14 * time.Hour, 24 * 365 * time.Hour} {
		s := newExpDecaySample(10, 0.015)
		now := s.t0
		for range 10 {
			s.update(now, 1)
		}
		now = now.Add(idle)
		for range 100 {
			now = now.Add(time.Millisecond)
			s.update(now, 2)
		}
		count, values := s.snapshot()
		if count != 110 {
			t.Errorf("idle for %v: expected count 110, got %d", idle, count)
		}
		for i, wv := range s.values {
			if math.IsInf(wv.k, 0) || math.IsNaN(wv.k) {
				t.Errorf("idle for %v: unexpected priority %v", idle, wv)
			}
			if j := (i - 1) / 2; i > 0 && s.values[j].k > wv.k {
				t.Fatalf("idle for %v: heap order broken: %v", idle, s.values)
			}
		}
		if slices.Contains(values, 1) {
			t.Errorf("idle for %v: expected old values to be gone, got %v", idle, values)
		}
	}
}
