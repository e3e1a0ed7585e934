// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package contrast

import (
	"math"
	"testing"
)

// The values are those of tables, and of the normal distribution.
func TestTail(t *testing.T) {
	for _, tt := range []struct {
		t    float64
		df   int
		want float64
	}{
		{0, 3, 0.5}, {63.656741, 1, 0.005}, {9.924843, 2, 0.005}, {12.923979, 3, 0.0005}, {8.610302, 4, 0.0005}, {4.586894, 10, 0.0005},
		{4.072765, 15, 0.0005}, {2, 1e6, math.Erfc(math.Sqrt2) / 2}, {math.Inf(1), 3, 0}, {1e200, 4, 0},
	} {
		if got := Tail(tt.t, tt.df); math.Abs(got-tt.want) > 1e-5*tt.want+1e-15 {
			t.Errorf("Tail(%v, %v) = %v, want %v", tt.t, tt.df, got, tt.want)
		}
	}
}
