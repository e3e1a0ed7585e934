// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"sync/atomic"

	"github.com/regometer/regometer/internal/grid"
)

// A packed word counts a bucket in one atomic addition, together with the sum
// of what its values exceed the bucket's lower bound by:
//
//	bit 63        the word is retired
//	bits 46 to 62 count, full from bit 62 on
//	bits 0 to 45  sum of the excess, at most 2^29 for each counted
//
// The one who adds sees the result. If the word is retired, its bucket is
// counted elsewhere by now: what was added is lost, and is recorded again. If
// the count is full, the addition counts, and its goroutine empties the word
// under the lock before it records anything else. A full count has room for
// another 65,536 additions: it cannot overflow unless as many goroutines wait
// for the lock to empty one word. The sum cannot overflow before the count
// does.
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
	first    int // the first word's bucket, as state numbers them
	byBucket []atomic.Uint64
	cuts     *cutWords // nil if no explicit bound cuts one of these buckets
}

// cutWords are further packed words, for the buckets that explicit bounds cut.
// Each is a bound's, and counts those values of the bucket that are at most
// this bound and above the one before; the bucket's own word counts those above
// all its bounds. So all values of a packed word are in one bucket and in one
// class, and a value is in one word only: counts by bucket, counts by class and
// the sum cannot differ in what they count.
type cutWords struct {
	buckets []uint64 // a bit for each of byBucket: the bucket is cut
	first   int      // the first word's bound; some words may be of bounds that cut nothing
	byBound []atomic.Uint64
}

// cut says whether explicit bounds cut the bucket of a word.
func (c *cutWords) cut(slot uint) bool {
	return c != nil && c.buckets[slot/64]>>(slot%64)&1 != 0
}

// newCutWords returns empty words for those of n buckets from first on that
// bounds cut: a bound does not if it is the greatest value of its bucket.
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

// decode returns the count and the sum of the values that a packed word counts.
// The sum is below 2^55: a bucket of at most 2^29 integers begins below 2^38 if
// it spans a factor of 2^(1/256) or more.
func (s *state) decode(word uint64, bucket int, g *grid.Grid) (count, sum uint64) {
	count = word >> sumBits & (1<<countBits - 1)
	return count, count*uint64(g.Lower[bucket<<s.shift]) + word&(1<<sumBits-1)
}
