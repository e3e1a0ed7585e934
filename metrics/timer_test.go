// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"testing"
	"time"
)

// A clock that goes back adds nothing, and not the 292 years that the
// difference is without its sign.
func TestStopAfterClockWentBack(t *testing.T) {
	var tm timer
	tm.state.Store(uint64(now()+int64(time.Minute)) | running)
	if d := tm.Stop(); d != 0 || tm.Int64() != 0 {
		t.Errorf("Stop returned %d, and the timer holds %d", d, tm.Int64())
	}
}

// The highest bit of a time follows from the time before, at every carry.
func TestAfter(t *testing.T) {
	edges := []int64{0, 1, -1, 1 << 62, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, -1 << 62}
	for _, before := range edges {
		for _, delta := range []int64{0, 1, 1 << 40, 1 << 62, math.MaxInt64} {
			sum := before + delta
			if got := after(before, uint64(sum)&^running); got != sum {
				t.Errorf("after(%d, %d) = %d", before, uint64(sum)&^running, got)
			}
		}
	}
}
