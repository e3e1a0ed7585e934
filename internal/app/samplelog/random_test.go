// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"math"
	"slices"
	"testing"
)

func TestLogarithms(t *testing.T) {
	t.Parallel()
	for _, x := range []uint64{1, 2, 3, 7, 250, 1000, 65_535, 1 << 40, math.MaxUint64} {
		got := float64(logOf(x)) / logOne
		if want := math.Log2(float64(x)); math.Abs(got-want) > 2.0/logOne {
			t.Errorf("logOf(%d) = %v, want %v", x, got, want)
		}
	}
	s := newSource(1, 1)
	for _, log := range []float64{0, 0.001, 0.5, 1, 9.99, 20.25, 35.9999, 40} {
		got := float64(s.power(int64(log * logOne)))
		if want := math.Exp2(math.Floor(log*logOne) / logOne); math.Abs(got-want) > 1+want*1e-6 {
			t.Errorf("power(%v) = %v, want %v", log, got, want)
		}
	}
	if low, high := s.power(-5*logOne), s.power(1<<60); low != 1 || high != 1<<40 {
		t.Errorf("power beyond its range = %d and %d", low, high)
	}
}

// TestLognormal: the quantiles are those of the distribution.
func TestLognormal(t *testing.T) {
	t.Parallel()
	const n, median, sigma = 400_000, 60_000, 1.5
	s := newSource(9, 1)
	d := newLognormal(median, sigma*1000)
	values := make([]int64, n)
	for i := range values {
		values[i] = s.draw(d, 0)
	}
	slices.Sort(values)
	for _, test := range []struct{ quantile, normal float64 }{
		{0.001, -3.0902}, {0.01, -2.3263}, {0.1, -1.2816}, {0.25, -0.6745}, {0.5, 0}, {0.75, 0.6745}, {0.9, 1.2816},
		{0.99, 2.3263}, {0.999, 3.0902},
	} {
		got := math.Log2(float64(values[int(test.quantile*n)])/median) / sigma
		if math.Abs(got-test.normal) > 0.05 {
			t.Errorf("quantile %v is %.3f standard deviations from the median, want %.3f", test.quantile, got, test.normal)
		}
	}
}

func TestWave(t *testing.T) {
	t.Parallel()
	s := newSource(4, 1)
	w := wave{spread: spreadOf(500)}
	var values []float64
	for range 200_000 {
		w.step(s)
		values = append(values, float64(w.now)/logOne)
	}
	var sum, squares, next float64
	for i, v := range values[1:] {
		sum, squares, next = sum+v, squares+v*v, next+v*values[i]
	}
	n := float64(len(values) - 1)
	if mean, deviation := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 0.03 || math.Abs(deviation-0.5) > 0.03 {
		t.Errorf("mean %.3f, deviation %.3f, want 0 and 0.5", mean, deviation)
	}
	if correlation := next / squares; math.Abs(correlation-0.9) > 0.02 {
		t.Errorf("a minute is alike the next by %.3f, want 0.9", correlation)
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	s := newSource(2, 1)
	var counts [7]int
	for range 70_000 {
		counts[s.below(7)]++
	}
	for i, n := range counts {
		if n < 9500 || n > 10_500 {
			t.Errorf("%d came %d times of 70,000, want about 10,000", i, n)
		}
	}
	if s.chance(0) || !s.chance(math.MaxUint64) {
		t.Error("what is impossible happened, or what is certain did not")
	}
}
