// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"testing"
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

// A value that is newer by ln(2)/alpha, 46.21 s, has twice the weight. Its
// priority is then higher in three of four cases.
func TestExpDecaySampleBias(t *testing.T) {
	const rounds = 6000
	kept := [2]int{}
	for range rounds {
		s := newExpDecaySample(1, 0.015)
		s.update(s.t0, 0)
		s.update(s.t0+46210*time.Millisecond, 1)
		_, values := s.snapshot()
		kept[values[0]]++
	}
	// 4500, with a standard deviation of 34
	if exp := rounds * 3 / 4; kept[1] < exp-200 || kept[1] > exp+200 {
		t.Errorf("expected the newer value to be kept in about %d of %d samples, got %d", exp, rounds, kept[1])
	}
}
