// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/regometer/regometer/internal/groupby"
)

func bigOf(s groupby.Sum) *big.Int {
	n := new(big.Int).Lsh(new(big.Int).SetUint64(s.Hi), 64)
	return n.Add(n, new(big.Int).SetUint64(s.Lo))
}

// TestSums compares with package math/big.
func TestSumArithmetic(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	last := groupby.Sum{}
	for range 1000 {
		s := groupby.Sum{Hi: random.Uint64() >> random.IntN(65), Lo: random.Uint64() >> random.IntN(65)}
		n := bigOf(s)
		if got := s.String(); got != n.String() {
			t.Fatalf("String of %v is %s, want %v", s, got, n)
		}
		f, _ := new(big.Float).SetInt(n).Float64()
		if got := Float(s); math.Abs(got-f) > 1e-15*f {
			t.Fatalf("Float(%v) = %v, want %v", s, got, f)
		}
		if random.IntN(2) == 0 {
			last.Hi = s.Hi
		}
		if got, want := compareSums(s, last), n.Cmp(bigOf(last)); got != want {
			t.Fatalf("compareSums(%v, %v) = %d, want %d", s, last, got, want)
		}
		last = s
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		part, whole groupby.Sum
		want        float64
	}{
		{groupby.Sum{}, groupby.Sum{}, 0},
		{groupby.Sum{Lo: 1}, groupby.Sum{}, 0},
		{groupby.Sum{Lo: 1}, groupby.Sum{Lo: 4}, 0.25},
		{groupby.Sum{Lo: 1 << 63}, groupby.Sum{Hi: 1}, 0.5},
	} {
		if got := Share(c.part, c.whole); got != c.want {
			t.Errorf("Share(%v, %v) = %v, want %v", c.part, c.whole, got, c.want)
		}
	}
	if got := Ratio(1, 4); got != 0.25 {
		t.Errorf("Ratio(1, 4) = %v", got)
	}
	if got := Ratio(1, 0); got != 0 {
		t.Errorf("Ratio(1, 0) = %v", got)
	}
}
