// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"math"
	"math/big"
	"math/bits"
	"sync"
)

// grid holds the bounds of all buckets of a unit and a schema from 0 up.
//
// Bucket i ends at the real number 2^(i/2^schema) of the exported unit. A
// recorded integer n lies at or below it exactly if n is at or below the bound
// in the recorded unit, rounded down: the rounded bounds decide exactly. The
// bounds between 2^e and 2^(e+1) are those between 1 and 2, shifted.
//
// Buckets are numbered by position, from 0 up. The position of bucket i is
// i−1−base, and base is a multiple of 2^(schema−MinSchema): shifting a position
// right by k gives the position after the schema was reduced by k.
type grid struct {
	schema uint
	base   int
	one    int // the position of the integer 1

	// The integers from one power of two to the next are divided into equal
	// intervals, and boundsBelow says how many bounds among them lie below
	// each. In an interval is at most one bound, since 2^(1/256) is above
	// 1+1/512.
	boundsBelow [1 << intervalBits]uint16

	// lower holds each position's largest integer below its bucket, and one
	// entry more for the end of the last.
	lower []int64
}

const intervalBits = 9

// position returns the position of the bucket that holds n > 0.
func (g *grid) position(n int64) int {
	zeros := bits.LeadingZeros64(uint64(n))
	interval := uint64(n) << (zeros & 63) << 1 >> (64 - intervalBits) // without the leading 1
	p := g.one + (63-zeros)<<(g.schema&63) + int(g.boundsBelow[interval])
	return p + int(uint64(g.lower[p+1]-n)>>63) // one more if n is above the bound
}

// upper returns the largest integer in bucket i or below.
func (g *grid) upper(i int) int64 {
	return g.lower[min(max(i-g.base, 0), len(g.lower)-1)]
}

var grids [units][MaxSchema + 1]struct {
	once sync.Once
	grid *grid
}

// gridOf returns the grid whose buckets, or groups of whose buckets if the
// schema is negative, are those of the layout.
func gridOf(u Unit, schema int) *grid {
	at := &grids[u][max(schema, 0)]
	at.once.Do(func() { at.grid = newGrid(u.perExported(), uint(max(schema, 0))) })
	return at.grid
}

func newGrid(perExported uint64, schema uint) *grid {
	octave := 1 << schema
	group := 1 << (schema + -MinSchema)

	roots := make([]uint64, octave)
	holdsOne := firstBounds(roots, perExported, schema)

	g := &grid{schema: schema}
	g.base = (holdsOne - 1) &^ (group - 1)
	g.one = holdsOne - 1 - g.base
	g.lower = make([]int64, g.one+63*octave+2)
	for k := range 63 * octave {
		g.lower[g.one+1+k] = int64(roots[k&(octave-1)] >> (63 - k>>schema))
	}
	g.lower[len(g.lower)-1] = math.MaxInt64
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
// which TestBoundsOfEverySchemaAndUnit proves by exact powers.
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
