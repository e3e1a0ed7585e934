// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"sync/atomic"

	"github.com/regometer/regometer/internal/grid"
)

// One atomic addition to a packed word counts a value of a bucket, and adds up
// the excess of the value over the bucket's lower bound:
//
//	bit 63        the word is retired
//	bits 46 to 62 count, full from bit 62 on
//	bits 0 to 45  sum of the excess, at most 2^29 for each value
//
// The goroutine that adds sees the result. If the word is retired, its bucket
// already counts elsewhere. The addition has no effect, and the goroutine
// records the value again. If the count is full, the addition is valid, and the
// goroutine empties the word under the lock before it records anything else. A
// full count has room for another 65,536 additions. So it overflows only if
// that many goroutines wait for the lock to empty the same word. The sum does
// not overflow before the count does.
const (
	sumBits   = 46
	countBits = 17
	countOne  = 1 << sumBits
	countFull = 1 << (sumBits + countBits - 1)
	retired   = 1 << (sumBits + countBits)

	maxPackedWidth = 1 << (sumBits - countBits)
)

// packedWords are the packed words of contiguous buckets.
type packedWords struct {
	first    int // the first word's bucket, numbered as in state
	byBucket []atomic.Uint64
	cuts     *cutWords // nil if no explicit bound cuts one of these buckets
}

// cutWords are more packed words, for buckets that explicit bounds cut. The
// word of a bound counts the bucket's values above the previous bound and up to
// this one. The bucket's own word counts its values above all these bounds. So
// each value is in one word, and all values of a word are in one bucket and in
// one class. Counts by buckets, counts by classes and the sum cover the same
// values.
type cutWords struct {
	buckets []uint64 // a bit for each of byBucket, set if bounds cut the bucket
	first   int      // the bound of byBound[0]; the words of bounds that cut nothing are not used
	byBound []atomic.Uint64
}

// cut reports whether explicit bounds cut the bucket at slot.
func (c *cutWords) cut(slot uint) bool {
	return c != nil && c.buckets[slot/64]>>(slot%64)&1 != 0
}

// newCutWords returns empty words for the cut buckets among n buckets from
// first on, or nil if there are none. A bound that is the greatest value of its
// bucket does not cut it.
func newCutWords(b *Bounds, g *grid.Grid, shift uint, first, n int) *cutWords {
	var c *cutWords
	var last int
	for i, bound := range b.list() {
		bucket := g.Position(bound) >> shift
		slot := bucket - first
		if slot < 0 || slot >= n || bound == g.Lower[(bucket+1)<<shift] {
			continue
		}
		if c == nil {
			c = &cutWords{buckets: make([]uint64, (n+63)/64), first: i}
		}
		c.buckets[slot/64] |= 1 << (slot % 64)
		last = i
	}
	if c != nil {
		c.byBound = make([]atomic.Uint64, last+1-c.first)
	}
	return c
}

// word returns the packed word that counts n, which is in the bucket of slot.
func (s *state) word(slot int, n int64, g *grid.Grid, b *Bounds) *atomic.Uint64 {
	if c := s.words.cuts; c.cut(uint(slot)) {
		class := b.class(n)
		if class < b.Len() && b.At(class) < g.Lower[(s.words.first+slot+1)<<s.shift] {
			return &c.byBound[class-c.first]
		}
	}
	return &s.words.byBucket[slot]
}

// decode returns the count and the sum of the values in a packed word. The sum
// is below 2^55, because a bucket of at most 2^29 integers, which spans a
// factor of 2^(1/256) or more, begins below 2^38.
func (s *state) decode(word uint64, bucket int, g *grid.Grid) (count, sum uint64) {
	count = word >> sumBits & (1<<countBits - 1)
	return count, count*uint64(g.Lower[bucket<<s.shift]) + word&(1<<sumBits-1)
}
