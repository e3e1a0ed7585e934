// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import "testing/synctest"

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
