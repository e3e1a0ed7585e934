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
	for _, tt := range []struct {
		counts, p []float64
		found     int
	}{
		{nil, nil, 0},
		{[]float64{7}, []float64{0.05}, 1},
		{[]float64{7}, []float64{0.051}, 0},
		{[]float64{1, 1, 1, 1}, []float64{0.0124, 0.9, 0.9, 0.9}, 1},
		{[]float64{1, 1, 1, 1}, []float64{0.0126, 0.9, 0.9, 0.9}, 0},
		{[]float64{1, 1, 1, 1}, []float64{0.0249, 0.0249, 0.9, 0.9}, 2}, // together
		{[]float64{97, 1, 1, 1}, []float64{0.03, 0.9, 0.9, 0.9}, 1},     // a busy one
		{[]float64{97, 1, 1, 1}, []float64{0.9, 0.006, 0.9, 0.9}, 1},    // an idle one
		{[]float64{1000, 1}, []float64{0.06, 0.001}, 1},                 // no more than the rest
	} {
		b, sum, rejected := budget{error: 0.05}, 0.0, 0
		for i, n := range tt.counts {
			b.add(n, tt.p[i])
		}
		b.discover()
		for i, n := range tt.counts {
			if sum += b.share(n); tt.p[i] <= b.alpha(n) {
				rejected++
			}
		}
		if rejected != tt.found || b.found != tt.found || len(tt.p) > 0 && math.Abs(sum-1) > 1e-9 {
			t.Errorf("%+v: %d found, %d rejected; the shares add up to %v", tt, b.found, rejected, sum)
		}
	}
}
