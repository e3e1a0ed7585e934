// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"math"
	"testing"
)

func TestMarked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ratio Spread
		want  string
	}{
		{Spread{Median: 1.2, Low: 1.1, High: 1.3}, "**1.20 (1.10–1.30) more**"},
		{Spread{Median: 1.2, Low: 0.9, High: 1.3}, "1.20 (0.90–1.30)"},
		{Spread{Median: 1.2, Low: 1.004, High: 1.3}, "1.20 (1.00–1.30)"},
		{Spread{Median: 1.2, Low: math.Inf(-1), High: math.Inf(1)}, "1.20"},
		{Spread{Median: 0.9, Low: 0.8, High: 1.3}, "0.90 (0.80–1.30)"},
	} {
		if got := test.ratio.Marked("more"); got != test.want {
			t.Errorf("%+v is %q, want %q", test, got, test.want)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}} {
		if got := Median(test.values); got != test.want {
			t.Errorf("median of %v is %v, want %v", test.values, got, test.want)
		}
	}
}
