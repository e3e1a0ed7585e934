// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package contrast

import (
	"math"
	"testing"
)

// TestTail: against closed forms, of 1, 2 and 4 degrees of freedom, and against
// the normal distribution.
func TestTail(t *testing.T) {
	tests := []struct {
		df   float64
		want func(t float64) float64
	}{
		{1, func(t float64) float64 { return math.Atan2(1, t) / math.Pi }},
		{2, func(t float64) float64 { r := math.Sqrt(2 + t*t); return 1 / (r * (r + t)) }},
		{4, func(t float64) float64 {
			s := t / math.Sqrt(4+t*t)
			return (1 - s) * (1 - s) * (2 + s) / 4 // of the closed form ½ − ¾(s − s³/3)
		}},
		{1e6, func(t float64) float64 { return math.Erfc(t/math.Sqrt2) / 2 }},
	}
	for _, tt := range tests {
		tolerance := 1e-9
		if tt.df > 2 {
			tolerance = 1e-3 // of what it is compared with
		}
		for _, x := range []float64{0, 1e-6, 0.1, 0.7, 1, 2, 5, 6} {
			if got, want := tail(x, tt.df), tt.want(x); math.Abs(got-want) > tolerance*want {
				t.Errorf("tail(%v, %v) = %v, want %v", x, tt.df, got, want)
			}
		}
	}
	// A table's value: t of 0.0005 with 10 degrees of freedom, and with 3.
	if p := tail(4.5869, 10); math.Abs(p-0.0005) > 1e-7 {
		t.Errorf("tail(4.5869, 10) = %v", p)
	}
	if p := tail(12.924, 3); math.Abs(p-0.0005) > 1e-7 {
		t.Errorf("tail(12.924, 3) = %v", p)
	}
	if p := tail(math.Inf(1), 3); p != 0 {
		t.Errorf("tail(∞) = %v", p)
	}
}
