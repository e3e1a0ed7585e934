// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package contrast

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/regometer/regometer/exphist"
)

// sample returns n slices of m values, times factor.
func sample(t testing.TB, rng *rand.Rand, n, m int, factor float64) (all []*exphist.Snapshot) {
	for range n {
		values := make([]int64, m)
		level := 0.1 * rng.NormFloat64()
		for i := range values {
			values[i] = int64(factor * math.Exp(13+level+0.7*rng.NormFloat64()))
		}
		all = append(all, snapshotOf(t, 5, values...))
	}
	return all
}

// TestInterval: it contains the estimate, is narrower the larger the error may
// be, and is turned round when the sides are swapped.
func TestInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 20 {
		before, after := sample(t, rng, 8+rng.IntN(40), 50, 1), sample(t, rng, 8+rng.IntN(40), 80, 1.3)
		for _, q := range []float64{0.5, 0.9, 0.99} {
			c, swapped := NewQuantiles(before, after), NewQuantiles(after, before)
			d := c.shift(q)
			low, high := c.interval(q, 0.001)
			wideLow, wideHigh := c.interval(q, 0.00001)
			backLow, backHigh := swapped.interval(q, 0.001)
			if !(wideLow <= low && low < d && d < high && high <= wideHigh) {
				t.Errorf("round %d, q %v: %v to %v to %v, wider %v to %v", round, q, low, d, high, wideLow, wideHigh)
			}
			if c := c.Compare(q, 0.001); (c.Low <= 0 && 0 <= c.High) != (c.P >= 0.001) {
				t.Errorf("round %d, q %v: %+v", round, q, c)
			}
			near := func(a, b float64) bool { return a == b || math.Abs(a-b) < 0.01 }
			if !near(low, -backHigh) || !near(high, -backLow) {
				t.Errorf("round %d, q %v: %v to %v, swapped %v to %v", round, q, low, high, backLow, backHigh)
			}
		}
	}
}

// Values that never vary cause no division by zero.
func TestIntervalOfConstants(t *testing.T) {
	one := slices.Repeat([]*exphist.Snapshot{snapshotOf(t, 5, slices.Repeat([]int64{100_000}, 100)...)}, 20)
	two := slices.Repeat([]*exphist.Snapshot{snapshotOf(t, 5, slices.Repeat([]int64{200_000}, 100)...)}, 20)
	c := NewQuantiles(one, one)
	low, high := c.interval(0.5, 0.001)
	if !(low <= 0 && high >= 0 && low > -1 && high < 1) {
		t.Errorf("equal: %v to %v", low, high)
	}
	c = NewQuantiles(one, two)
	low, high = c.interval(0.5, 0.001)
	if !(low > 31 && low <= 32 && high >= 32 && high < 33) {
		t.Errorf("doubled: %v to %v buckets, want 32", low, high)
	}
}
