// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// above says whether n·u > 2^(i/2^schema), with u = 1/perExported, by comparing
// powers of integers.
func above(n int64, perExported uint64, schema, i int) bool {
	left := big.NewInt(n)
	right := new(big.Int).SetUint64(perExported)
	if schema >= 0 {
		exponent := big.NewInt(1 << schema)
		left.Exp(left, exponent, nil)
		right.Exp(right, exponent, nil)
	} else {
		i <<= -schema
	}
	if i >= 0 {
		right.Lsh(right, uint(i))
	} else {
		left.Lsh(left, uint(-i))
	}
	return left.Cmp(right) > 0
}

func TestBoundsOfEverySchemaAndUnit(t *testing.T) {
	for unit := range Unit(units) {
		for schema := minSchema; schema <= maxSchema; schema++ {
			t.Run(fmt.Sprintf("%s/schema=%d", unit, schema), func(t *testing.T) {
				t.Parallel()
				l := Layout{Unit: unit, Schema: schema}
				g, k := gridOf(unit, schema), max(-schema, 0)
				index := func(n int64) int { return (g.Position(n)+g.Base)>>k + 1 }
				per := unit.perExported()
				r := rand.New(rand.NewPCG(1, 1))

				// Upwards bucket by bucket: each must begin where the one
				// before ended.
				end := int64(0)
				for i := index(1); ; i++ {
					low, high := l.limits(i)
					if low != end+1 {
						t.Fatalf("bucket %d begins at %d, the one before ends at %d", i, low, end)
					}
					end = high
					for _, n := range []int64{low, high, high - 1, low + (high-low)/2, low + (high-low)/5*r.Int64N(6)} {
						if n >= low && n <= high && index(n) != i {
							t.Fatalf("%d is put into bucket %d, not %d", n, index(n), i)
						}
					}
					if end > 0 && above(end, per, schema, i) {
						t.Fatalf("bucket %d ends at %d, which is above its bound", i, end)
					}
					if end == math.MaxInt64 {
						break
					}
					if !above(end+1, per, schema, i) {
						t.Fatalf("bucket %d ends at %d, but %d is not above its bound either", i, end, end+1)
					}
				}
			})
		}
	}
}
