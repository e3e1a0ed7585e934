// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

func checkFloat(t *testing.T, v float64) {
	t.Helper()
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return // no JSON
	}
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if got := appendFloat([]byte("x"), v); string(got) != "x"+string(want) {
		t.Fatalf("appendFloat(%b) = %s, encoding/json writes %s", v, got[1:], want)
	}
}

func TestAppendFloat(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		decimals := float64(r.Int64N(1<<r.IntN(62)+1)) / []float64{1, 2, 4, 8, 10, 100, 1000, 10000}[r.IntN(8)]
		checkFloat(t, decimals)
		checkFloat(t, math.Nextafter(decimals, 0))
		checkFloat(t, math.Float64frombits(r.Uint64()))
	}
}

func FuzzAppendFloat(f *testing.F) {
	for _, v := range []float64{
		0, 1, 0.1, 0.5, 75.75, 0.001, 0.0005, 0.0004999, 1e-6, 9.99e-7, 1e-7, 1e-9, 1.5e-10, 1e-100, -2.25,
		999999999999.999, 1e12, 999999999999999, 1e15, 1e20, 1e21, 1e22, 1e-5, math.MaxFloat64, math.SmallestNonzeroFloat64,
		math.MaxInt64, math.MinInt64, 1.0 / 3, 2.0 / 3, 98.98999999999999, 0.30000000000000004, 123456789.0625,
	} {
		f.Add(math.Float64bits(v))
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		v := math.Float64frombits(bits)
		for _, v := range []float64{v, -v, math.Nextafter(v, math.Inf(1)), math.Nextafter(v, math.Inf(-1))} {
			checkFloat(t, v)
		}
	})
}
