// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"
)

func TestExpDecaySampleRoom(t *testing.T) {
	for _, size := range []int{1, 2, 16, 17, 100, 1028} {
		s := newExpDecaySample(size, 0.015)
		if cap(s.values) > 0 {
			t.Errorf("size %d: expected no room without values, got %d", size, cap(s.values))
		}
		grown := 0
		for n := 1; n <= 2*size; n++ {
			before := cap(s.values)
			s.Update(int64(n))
			if cap(s.values) != before {
				grown++
			}
			if room := cap(s.values); room > max(31, 8*n) || room > size {
				t.Errorf("size %d: %d values have room for %d", size, n, room)
			}
		}
		if len(s.values) != size {
			t.Errorf("size %d: expected as many values, got %d", size, len(s.values))
		}
		if grown > 4 {
			t.Errorf("size %d: grown %d times", size, grown)
		}
	}
}

func TestHistogramAllocs(t *testing.T) {
	// The histogram, its sample and the room for 16 values.
	allocs := testing.AllocsPerRun(100, func() {
		h := newHistogram()
		for i := range int64(16) {
			h.Update(i)
		}
	})
	if allocs > 3 {
		t.Errorf("expected 3 allocations, got %v", allocs)
	}
}
