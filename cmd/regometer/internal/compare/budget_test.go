// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math"
	"testing"
)

// TestBudget: the shares add up to 1, and a test finds a change only as the
// procedure of Benjamini and Hochberg allows.
func TestBudget(t *testing.T) {
	for name, tt := range map[string]struct {
		counts, p []float64
		found     int
	}{
		"none":                  {nil, nil, 0},
		"one":                   {[]float64{7}, []float64{0.05}, 1},
		"one that is not":       {[]float64{7}, []float64{0.051}, 0},
		"one of four":           {[]float64{1, 1, 1, 1}, []float64{0.0124, 0.9, 0.9, 0.9}, 1},
		"not one of four":       {[]float64{1, 1, 1, 1}, []float64{0.0126, 0.9, 0.9, 0.9}, 0},
		"two of four together":  {[]float64{1, 1, 1, 1}, []float64{0.0249, 0.0249, 0.9, 0.9}, 2},
		"a busy one":            {[]float64{97, 1, 1, 1}, []float64{0.03, 0.9, 0.9, 0.9}, 1},
		"an idle one":           {[]float64{97, 1, 1, 1}, []float64{0.9, 0.006, 0.9, 0.9}, 1},
		"no more than the rest": {[]float64{1000, 1}, []float64{0.06, 0.001}, 1},
	} {
		b, sum := budget{error: 0.05}, 0.0
		for i, n := range tt.counts {
			b.add(n, tt.p[i])
		}
		b.discover()
		rejected := 0
		for i, n := range tt.counts {
			sum += b.share(n)
			if tt.p[i] <= b.alpha(n) {
				rejected++
			}
		}
		if rejected != b.found {
			t.Errorf("%s: %d intervals do not contain 0, but %d changes are found", name, rejected, b.found)
		}
		if b.found != tt.found || len(tt.p) > 0 && math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: %d found, want %d; the shares add up to %v", name, b.found, tt.found, sum)
		}
	}
}
