// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"testing"
	"time"
)

// The share of each value in a sample is that of its weight, whether it came
// before or after the reservoir was full, and whenever it was rescaled.
func TestExpDecaySampleWeights(t *testing.T) {
	const trials = 20_000
	// One value of two is kept, the second is newer by so long.
	for _, dt := range []time.Duration{0, 30 * time.Second, 2 * time.Minute, rescaleThreshold + time.Second} {
		alpha := 0.015
		if dt > rescaleThreshold {
			alpha = 0.0002
		}
		for _, first := range []time.Duration{0, 30 * time.Minute, rescaleThreshold + time.Minute} {
			newer := 0
			for range trials {
				s := newExpDecaySample(1, alpha)
				start := s.t0.Add(first)
				s.update(start, 1)
				s.update(start.Add(dt), 2)
				if s.values[0].v == 2 {
					newer++
				}
			}
			w := math.Exp(alpha * dt.Seconds())
			// Of two weights the larger, w, wins unless its draw is beaten:
			// P(1/u1 < w/u2) = 1 - 1/(2w).
			p := 1 - 1/(2*w)
			if sigma := math.Sqrt(trials * p * (1 - p)); math.Abs(float64(newer)-trials*p) > 6*sigma+1 {
				t.Errorf("dt %v after %v: expected the newer value %.0f times, got %d", dt, first, trials*p, newer)
			}
		}
	}
}
