// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// However long nothing was recorded, new values replace old ones.
func TestExpDecaySampleIdle(t *testing.T) {
	const size = 10
	s := newExpDecaySample(size, 0.015)
	now := s.t0
	for range 200 {
		for v := range int64(3) {
			for range []int{10, 5, 5}[v] {
				s.update(now, v)
			}
			now += 20 * time.Hour
		}
		_, values := s.snapshot()
		slices.Sort(values)
		if exp := []int64{1, 1, 1, 1, 1, 2, 2, 2, 2, 2}; !slices.Equal(values, exp) {
			t.Fatalf("expected %v, got %v", exp, values)
		}
	}
}

// In a synctest bubble, whose clock starts before the program did, times are
// negative.
func TestExpDecaySampleInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newExpDecaySample(10, 0.015)
		for v, n := range []int{10, 5, 5} {
			for range n {
				s.Update(int64(v))
			}
			time.Sleep(20 * time.Hour)
		}
		_, values := s.snapshot()
		slices.Sort(values)
		if exp := []int64{1, 1, 1, 1, 1, 2, 2, 2, 2, 2}; !slices.Equal(values, exp) {
			t.Errorf("expected %v, got %v", exp, values)
		}
	})
}

// A value that is newer by ln(2)/alpha, 46.21 s, has twice the weight. Of it and
// three older ones, it has the highest priority if 2/u > 1/v for each of the
// three v: that is the integral of (1-u/2)^3 from 0 to 1, in 15 of 32 cases.
func TestExpDecaySampleBias(t *testing.T) {
	const rounds = 6400
	newer := 0
	for range rounds {
		s := newExpDecaySample(1, 0.015)
		for range 3 {
			s.update(s.t0, 0)
		}
		s.update(s.t0+46210*time.Millisecond, 1)
		if _, values := s.snapshot(); values[0] == 1 {
			newer++
		}
	}
	// 3000, with a standard deviation of 40
	if exp := rounds * 15 / 32; newer < exp-200 || newer > exp+200 {
		t.Errorf("expected the newer value to be kept in about %d of %d samples, got %d", exp, rounds, newer)
	}
}
