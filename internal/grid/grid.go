// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package grid computes the bounds of exponential buckets for integers.
package grid

import (
	"math"
	"math/big"
	"math/bits"
)

// Grid has the bounds of all buckets of a unit and a schema. The schema is at
// least 0.
//
// Bucket i ends at the real number 2^(i/2^schema) in the exported unit. The
// bounds here are in the recorded unit, rounded down. An integer is above a
// rounded bound exactly if it is above the real one. The bounds between 2^e and
// 2^(e+1) are the bounds between 1 and 2, shifted.
//
// The position of bucket i is i−1−Base. Positions begin at 0. Base is a
// multiple of 2^(Schema+4). So shifting a position right by k gives the
// position after the schema has been reduced by k, down to schema −4.
type Grid struct {
	Schema uint
	Base   int
	one    int // the position of the integer 1

	// The integers from one power of two to the next are divided into
	// 2^intervalBits equal intervals. boundsBelow has, for each interval, the
	// number of bounds that are below it and not below the power of two. An
	// interval has at most one bound, because 2^(1/256) is above 1+1/512.
	boundsBelow [1 << intervalBits]uint16

	// Lower has, for each position, the largest integer below the bucket. The
	// last entry is the end of the last bucket.
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

// New returns the grid of a schema from 0 to 8. perExported is the number of
// recorded units in an exported unit.
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
// unit, as multiples of 2^−63, rounded down. It returns the index of the bucket
// that ends at the first of them. This bucket has the integer 1.
//
// It computes with so many digits that it rounds no bound to the wrong side.
// TestBoundsOfEverySchemaAndUnit in exphist proves this with exact powers.
func firstBounds(roots []uint64, perExported uint64, schema uint) int {
	const precision = 256
	octave := len(roots)
	u := new(big.Int).SetUint64(perExported)

	// A bound is u·2^(i/octave), which is the octave-th root of u^octave·2^i.
	// The bit length of u^octave gives the lowest i with a bound of 1 or more.
	i0 := 1 - new(big.Int).Exp(u, big.NewInt(int64(octave)), nil).BitLen()

	root := new(big.Float).SetPrec(precision).SetInt64(2)
	for range schema {
		root.Sqrt(root)
	}
	powers := []*big.Float{new(big.Float).SetPrec(precision).SetInt(u)} // of the root, times u
	for range octave - 1 {
		powers = append(powers, new(big.Float).Mul(powers[len(powers)-1], root))
	}
	for k := range roots {
		i := i0 + k
		x := powers[i&(octave-1)]
		roots[k], _ = new(big.Float).SetMantExp(x, i>>schema+63).Uint64()
	}
	return i0
}
