// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/regometer/regometer/metrics"
)

// TestStatisticsOfManyNumbers: of more numbers than a histogram keeps, too,
// Statistics is exact.
func TestStatisticsOfManyNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{1027, 1028, 1029, 2000, 4096, 240_001} {
		for name, next := range map[string]func(i int) int64{
			"ascending":  func(i int) int64 { return int64(i) },
			"descending": func(i int) int64 { return -int64(i) },
			"scattered":  func(int) int64 { return rng.Int64N(1e9) - 1e8 },
			"few":        func(int) int64 { return rng.Int64N(3) },
			"wide":       func(int) int64 { return rng.Int64() >> (17 + rng.IntN(40)) * (1 - 2*rng.Int64N(2)) },
		} {
			numbers := make([]int64, n)
			for i := range numbers {
				numbers[i] = next(i)
			}
			original := slices.Clone(numbers)
			got := metrics.Statistics(numbers...).(map[string]any)
			if !slices.Equal(numbers, original) {
				t.Fatalf("%s: Statistics changed the order of its arguments", name)
			}
			checkExact(t, got, numbers)
			if t.Failed() {
				t.Fatalf("of %d numbers, %s", n, name)
			}
		}
	}
}

// checkExact checks a summary by definition.
func checkExact(t *testing.T, got map[string]any, values []int64) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	sum, squares, size := new(big.Int), new(big.Int), big.NewInt(int64(n))
	for _, v := range sorted {
		x := big.NewInt(v)
		sum.Add(sum, x)
		squares.Add(squares, x.Mul(x, x))
	}
	mean, _ := new(big.Rat).SetFrac(sum, size).Float64()
	// The variance is (n * sum of squares - square of sum) / n^2.
	squares.Mul(squares, size).Sub(squares, sum.Mul(sum, sum))
	variance, _ := new(big.Rat).SetFrac(squares, size.Mul(size, size)).Float64()
	want := map[string]any{
		"count": int64(n), "min": sorted[0], "max": sorted[n-1], "mean": mean, "stddev": math.Sqrt(variance),
	}
	for field, p := range map[string]float64{
		"median": 0.5, "75%": 0.75, "90%": 0.9, "95%": 0.95, "99%": 0.99, "99.9%": 0.999, "99.99%": 0.9999,
	} {
		position := p * float64(n+1)
		i := min(max(int(position), 1), n)
		lower, upper := float64(sorted[i-1]), float64(sorted[min(i, n-1)])
		if position < 1 {
			upper = lower
		}
		want[field] = lower + (position-math.Floor(position))*(upper-lower)
	}
	if len(got) != len(want) {
		t.Errorf("%d fields, want %d: %v", len(got), len(want), got)
	}
	for field, w := range want {
		wf, isFloat := w.(float64)
		gf, _ := got[field].(float64)
		if got[field] != w && !(isFloat && math.Abs(gf-wf) <= 1e-15*math.Abs(wf)) {
			t.Errorf("%s is %T %v, want %T %v", field, got[field], got[field], w, w)
		}
	}
}
