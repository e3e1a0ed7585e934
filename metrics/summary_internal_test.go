// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exact computes the mean and the standard deviation with arbitrary precision.
func exact(values []int64) (mean, stdDev float64) {
	n := big.NewInt(int64(len(values)))
	sum, squares := new(big.Int), new(big.Int)
	for _, v := range values {
		b := big.NewInt(v)
		sum.Add(sum, b)
		squares.Add(squares, new(big.Int).Mul(b, b))
	}
	mean, _ = new(big.Rat).SetFrac(sum, n).Float64()
	variance := new(big.Rat).SetFrac(
		new(big.Int).Sub(new(big.Int).Mul(n, squares), new(big.Int).Mul(sum, sum)),
		new(big.Int).Mul(n, n))
	root := new(big.Float).SetPrec(200).SetRat(variance)
	stdDev, _ = root.Sqrt(root).Float64()
	return mean, stdDev
}

func near(got, want float64) bool {
	return got == want || math.Abs(got-want) <= 4e-16*math.Abs(want)
}

func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 2, 100, reservoirSize, 5000} {
		for name, samples := range sortInputs(r, n) {
			var s sums
			values := make([]int64, 0, n)
			for _, x := range samples {
				values = append(values, x.value)
			}
			s.addAll(samples)
			s.addAll(samples)
			for _, x := range samples {
				s.remove(x.value)
			}
			mean, stdDev := exact(values)
			if got := s.mean(n); !near(got, mean) {
				t.Errorf("%d %s values: mean %v, want %v", n, name, got, mean)
			}
			if got := s.stdDev(n); !near(got, stdDev) {
				t.Errorf("%d %s values: standard deviation %v, want %v", n, name, got, stdDev)
			}
		}
	}
}

// The sums of as many values as stdDev allows, all at one end: the words do not
// overflow.
func TestSumsAtTheirLimit(t *testing.T) {
	log2n := 32 // a variable, for platforms where 2³² is no int
	n := 1 << log2n
	if n == 0 {
		t.Skip("there can be no slice of so many here")
	}
	for _, v := range []int64{math.MinInt64, math.MaxInt64} {
		hi, lo := square(v)
		s := sums{
			sum:     [2]uint64{uint64(v) << 32, uint64(v >> 32)},
			squares: [3]uint64{lo << 32, hi<<32 | lo>>32, hi >> 32},
		}
		if got := s.mean(n); got != float64(v) {
			t.Errorf("mean of 2³² values %d: %v", v, got)
		}
		if got := s.stdDev(n); got != 0 {
			t.Errorf("standard deviation of 2³² values %d: %v", v, got)
		}
	}
}
