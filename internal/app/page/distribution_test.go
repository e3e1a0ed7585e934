// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestBinned: the bins are few, in order, without overlap, from the least to
// the largest value, and all values above 0 are in one.
func TestBinned(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, spread := range []float64{0, 0.001, 0.1, 1, 5} {
		for _, n := range []int{1, 2, 100, 5000} {
			values := make([]int64, n)
			for i := range values {
				values[i] = max(1, int64(1e6*math.Exp(spread*random.NormFloat64())))
			}
			d := timings(values...)
			bins, most := binned(&d)
			if len(bins) > maxBins {
				t.Errorf("%d values, spread %v: %d bins", n, spread, len(bins))
			}
			sum, largest := 0.0, 0.0
			for i, b := range bins {
				if b.low >= b.high || i > 0 && b.low < bins[i-1].high {
					t.Errorf("%d values, spread %v: bin %d is %+v", n, spread, i, b)
				}
				sum, largest = sum+b.share, max(largest, b.share)
			}
			if math.Abs(sum-1) > 1e-9 || largest != most {
				t.Errorf("%d values, spread %v: sum %v, largest %v, said %v", n, spread, sum, largest, most)
			}
			if bins[0].low >= float64(d.Min()) || bins[len(bins)-1].high < float64(d.Max()) {
				t.Errorf("%d values, spread %v: %+v", n, spread, bins)
			}
		}
	}
}
