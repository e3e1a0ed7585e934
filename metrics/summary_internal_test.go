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
			overflows := s.sum[1] != uint64(int64(s.sum[0])>>63)
			if got := s.mean(n); !near(got, mean) || overflows && got != mean {
				t.Errorf("%d %s values: mean %v, want %v", n, name, got, mean)
			}
			if got := s.stdDev(n); !near(got, stdDev) {
				t.Errorf("%d %s values: standard deviation %v, want %v", n, name, got, stdDev)
			}
		}
	}
}

// A mean whose sum exceeds an int64 is rounded once.
func TestMeanIsRoundedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 20_000 {
		values := make([]int64, 2+r.IntN(1200))
		samples := make([]sample, len(values))
		v := int64(r.Uint64()) >> r.IntN(12)
		for i := range values {
			values[i] = v + r.Int64N(3)*int64(r.IntN(2))
			samples[i].value = values[i]
		}
		var s sums
		s.addAll(samples)
		if s.sum[1] == uint64(int64(s.sum[0])>>63) {
			continue
		}
		if want, _ := exact(values); s.mean(len(values)) != want {
			t.Fatalf("mean of %d values from %d: %v, want %v", len(values), v, s.mean(len(values)), want)
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
