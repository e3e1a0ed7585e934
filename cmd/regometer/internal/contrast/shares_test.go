// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package contrast

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestScoreInterval: for independent decisions, the interval is that of Mee
// (1984), as Newcombe (1998) prints it in table II.
func TestScoreInterval(t *testing.T) {
	for _, tt := range []struct{ xa, na, xb, nb, low, high float64 }{
		{56, 70, 48, 80, 0.0533, 0.3377},
		{9, 10, 3, 10, 0.1821, 0.8370},
		{10, 10, 0, 10, 0.6777, 1},
	} {
		independent := func(x, n float64) side { return side{n: n, share: x / n, slices: n, df: 1e6, effect: 1} }
		change := tt.xa/tt.na - tt.xb/tt.nb
		low, high := interval(change, 0.05, 1+change, 1-change, 1e-7, newTest(independent(tt.xb, tt.nb), independent(tt.xa, tt.na)).tails)
		if math.Abs(low-tt.low) > 1e-4 || math.Abs(min(1, high)-tt.high) > 1e-4 {
			t.Errorf("%v of %v - %v of %v: %.4f to %.4f, want %v to %v", tt.xa, tt.na, tt.xb, tt.nb, low, high, tt.low, tt.high)
		}
	}
}

// drawn returns n slices of about m decisions, a share p of which have
// something. The logarithm of a slice's share varies by spread, and 0.5 of it
// lasts until the next slice. If p is above ½, that of the others varies.
func drawn(rng *rand.Rand, n, m int, p, spread float64) []Count {
	counts := make([]Count, n)
	rare, level := min(p, 1-p), rng.NormFloat64()
	for i := range counts {
		level = 0.5*level + math.Sqrt(0.75)*rng.NormFloat64()
		c := &counts[i]
		for range 1 + rng.IntN(2*m) {
			if c.N++; (rng.Float64() < rare*math.Exp(spread*level-spread*spread/2)) == (p < 0.5) {
				c.Has++
			}
		}
	}
	return counts
}

// TestShares: the interval of 95 % contains the change in 19 of 20 cases, also
// next to 0 % and 100 %. It contains 0 unless P is below 5 %. It is turned round
// if the sides are swapped, or if the others are counted.
func TestShares(t *testing.T) {
	const rounds = 200
	for _, tt := range []struct{ before, after, spread float64 }{
		{0.3, 0.3, 0.3}, {0, 0.002, 0}, {0.002, 0.002, 0.5}, {0.01, 0.2, 0.5}, {1, 0.99, 0.5}, {0.97, 0.6, 0.2}, {1, 0, 0},
	} {
		rng := rand.New(rand.NewPCG(21, 22))
		in := 0
		for range rounds {
			before, after := drawn(rng, 30+rng.IntN(60), 40, tt.before, tt.spread), drawn(rng, 30+rng.IntN(60), 40, tt.after, tt.spread)
			d, swapped := Shares(before, after, 0.05), Shares(after, before, 0.05)
			if change := tt.after - tt.before; d.Low <= change && change <= d.High {
				in++
			}
			if contains := d.Low <= 0 && 0 <= d.High; contains != (d.P >= 0.05) || math.IsNaN(d.P) {
				t.Fatalf("%+v: %+v", tt, d)
			}
			for _, counts := range [][]Count{before, after} {
				for i, c := range counts {
					counts[i].Has = c.N - c.Has
				}
			}
			others := Shares(before, after, 0.05)
			for _, o := range []Difference{swapped, others} {
				if math.Abs(o.Low+d.High)+math.Abs(o.High+d.Low)+math.Abs(o.P-d.P) > 1e-5 {
					t.Fatalf("%+v: %+v, turned round %+v", tt, d, o)
				}
			}
		}
		if in < rounds*92/100 { // 2 standard deviations
			t.Errorf("%+v: %d of %d intervals contain the change", tt, in, rounds)
		}
	}
}

// TestSharesAtEnds: sides that are all alike have an interval, and a side
// without the thing does not pass for one that never has it.
func TestSharesAtEnds(t *testing.T) {
	all := func(n int, bursts ...int) []Count { // slices of 100 decisions
		counts := make([]Count, n)
		for i := range counts {
			counts[i].N = 100
		}
		for _, i := range bursts {
			counts[i].Has = 50
		}
		return counts
	}
	if d := Shares(all(60), all(60), 0.05); d.P != 1 || !(-0.002 < d.Low && d.Low < -0.0005 && d.High == -d.Low) {
		t.Errorf("none and none: %+v", d)
	}
	many := []int{3, 21, 30, 44, 58, 71, 90, 99, 110, 126, 141, 150, 177, 199, 230}
	if d := Shares(all(16), all(240, many...), 0.05); d.P < 0.1 {
		t.Errorf("none in 16 slices, 15 bursts in 240: %+v", d)
	}
	if d := Shares(all(240), all(240, many...), 0.05); d.P > 0.05 {
		t.Errorf("none in 240 slices, 15 bursts in 240: %+v", d)
	}
}

func TestWilson(t *testing.T) {
	for _, test := range []struct {
		k, n, low, high float64
	}{{0, 10, 0, 0.2775}, {1, 400, 0.0004, 0.0140}, {10, 10, 0.7225, 1}} {
		low, high := Wilson(test.k/test.n, test.n)
		if low < test.low-1e-4 || low > test.low+1e-4 || high < test.high-1e-4 || high > test.high+1e-4 {
			t.Errorf("%v of %v: %.4f to %.4f", test.k, test.n, low, high)
		}
	}
}

// TestParts: parts of one log that are alike differ seldom, also a part of one
// slice, and if decisions of a slice come together.
func TestParts(t *testing.T) {
	const rounds, alpha = 500, 0.02
	for _, tt := range []struct {
		in     int
		spread float64
	}{{1, 0}, {3, 0.5}, {30, 0.5}, {128, 0.3}} {
		rng := rand.New(rand.NewPCG(31, 32))
		alarms, seen := 0, 0
		for range rounds {
			counts := drawn(rng, 256, 20, 0.2, tt.spread)
			if p, _ := Parts(counts[tt.in:], counts[:tt.in]); p < alpha {
				alarms++
			}
			for i := range counts[:tt.in] {
				counts[i].Has = (counts[i].N + counts[i].Has) / 2
			}
			if p, _ := Parts(counts[tt.in:], counts[:tt.in]); p < alpha {
				seen++
			}
		}
		if t.Logf("%+v: %d alarms, %d changes seen in %d", tt, alarms, seen, rounds); alarms > rounds*4/100 || seen < rounds*8/10 {
			t.Errorf("%+v: %d alarms, %d changes seen in %d", tt, alarms, seen, rounds)
		}
	}
	// Decisions that come more evenly than at random count as independent.
	if p, effect := Parts(slices.Repeat([]Count{{10, 5}}, 100), slices.Repeat([]Count{{10, 6}}, 5)); p < 0.1 || effect != 1 {
		t.Errorf("6 of 10 in five slices: %v", p)
	}
	if p, _ := Parts([]Count{{10, 0}}, []Count{{10, 0}}); p != 1 {
		t.Errorf("none and none: %v", p)
	}
}
