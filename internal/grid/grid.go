// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package grid computes the bounds of exponential buckets of integers.
package grid

import (
	"math"
	"math/big"
	"math/bits"
)

// Grid holds the bounds of all buckets of a unit and a schema from 0 up.
//
// Bucket i ends at the real number 2^(i/2^schema) of the exported unit. A
// recorded integer n lies at or below it exactly if n is at or below the bound
// in the recorded unit, rounded down: the rounded bounds decide exactly. The
// bounds between 2^e and 2^(e+1) are those between 1 and 2, shifted.
//
// Buckets are numbered by position, from 0 up. The position of bucket i is
// i−1−Base, and Base is a multiple of 2^(Schema+4): shifting a position right
// by k gives the position after the schema was reduced by k, down to schema −4.
type Grid struct {
	Schema uint
	Base   int
	one    int // the position of the integer 1

	// The integers from one power of two to the next are divided into equal
	// intervals, and boundsBelow says how many bounds among them lie below
	// each. In an interval is at most one bound, since 2^(1/256) is above
	// 1+1/512.
	boundsBelow [1 << intervalBits]uint16

	// Lower holds each position's largest integer below its bucket, and one
	// entry more for the end of the last.
	Lower []int64
}

const intervalBits = 9

// Position returns the position of the bucket that holds n > 0.
func (g *Grid) Position(n int64) int {
	zeros := bits.LeadingZeros64(uint64(n))
	interval := uint64(n) << (zeros & 63) << 1 >> (64 - intervalBits) // without the leading 1
	p := g.one + (63-zeros)<<(g.Schema&63) + int(g.boundsBelow[interval])
	return p + int(uint64(g.Lower[p+1]-n)>>63) // one more if n is above the bound
}

// Upper returns the largest integer in bucket i or below.
func (g *Grid) Upper(i int) int64 {
	return g.Lower[min(max(i-g.Base, 0), len(g.Lower)-1)]
}

// New computes the grid of a schema from 0 to 8. An exported unit is
// perExported recorded ones.
func New(perExported uint64, schema uint) *Grid {
	octave := 1 << schema
	group := 1 << (schema + 4)

	roots := make([]uint64, octave)
	holdsOne := firstBounds(roots, perExported, schema)

	g := &Grid{Schema: schema}
	g.Base = (holdsOne - 1) &^ (group - 1)
	g.one = holdsOne - 1 - g.Base
	g.Lower = make([]int64, g.one+63*octave+2)
	for k := range 63 * octave {
		g.Lower[g.one+1+k] = int64(roots[k&(octave-1)] >> (63 - k>>schema))
	}
	g.Lower[len(g.Lower)-1] = math.MaxInt64
	for interval := range g.boundsBelow {
		start := uint64(1<<intervalBits+interval) << (63 - intervalBits)
		for _, root := range roots {
			if root < start {
				g.boundsBelow[interval]++
			}
		}
	}
	return g
}

// firstBounds fills roots with the bounds from 1 to below 2 in the recorded
// unit, as multiples of 2^−63, rounded down. The first one ends the bucket that
// holds the integer 1, whose index is returned.
//
// It computes with so many digits that no bound is rounded to the wrong side,
// which TestBoundsOfEverySchemaAndUnit in exphist proves by exact powers.
func firstBounds(roots []uint64, perExported uint64, schema uint) int {
	const precision = 256
	octave := len(roots)
	u := new(big.Int).SetUint64(perExported)

	// A bound is perExported·2^(i/octave), so the root of u^octave·2^i: the
	// lowest i for which that is at least 1 follows from its length.
	i0 := 1 - new(big.Int).Exp(u, big.NewInt(int64(octave)), nil).BitLen()

	powers := make([]*big.Int, octave+1) // of two to the power k/octave, times 2^precision
	powers[0] = new(big.Int).Lsh(big.NewInt(1), precision)
	powers[octave] = new(big.Int).Lsh(big.NewInt(2), precision)
	for step := octave / 2; step > 0; step /= 2 {
		for k := step; k < octave; k += 2 * step {
			x := new(big.Int).Mul(powers[k-step], powers[k+step])
			powers[k] = x.Sqrt(x)
		}
	}
	for k := range roots {
		i := i0 + k
		x := new(big.Int).Mul(u, powers[i&(octave-1)])
		x.Lsh(x, uint(63+i>>schema+63))
		roots[k] = x.Rsh(x, precision+63).Uint64()
	}
	return i0
}
