// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"math/bits"
	"sync/atomic"
)

// A hot word counts a bucket in one atomic addition, together with the sum of
// what its values exceed the bucket's lower bound by:
//
//	bit 63        the word is dead
//	bits 46 to 62 count, full from bit 62 on
//	bits 0 to 45  sum of the excess, at most 2^29 for each counted
//
// The one who adds sees the result. If the word is dead, its bucket is counted
// elsewhere by now: what was added is lost, and is recorded again. If the count
// is full, the addition counts, and its goroutine empties the word under the lock
// before it records anything else. A full count has room for another 65,536
// additions: it cannot overflow unless as many goroutines wait for the lock to
// empty one word. The sum cannot overflow before the count does.
const (
	sumBits   = 46
	countBits = 17
	countOne  = 1 << sumBits
	countFull = 1 << (sumBits + countBits - 1)
	dead      = 1 << (sumBits + countBits)

	maxHotWidth = 1 << (sumBits - countBits)
)

// hot are the hot words of contiguous buckets. shift and g, in its methods, are
// those of its state and histogram.
type hot struct {
	first int // the first word's bucket, as state numbers them
	words []atomic.Uint64
}

// load returns the count and the sum of the values counted in a word.
func (t hot) load(slot int, g *grid, shift uint) (count uint64, sum uint128) {
	return t.decode(slot, t.words[slot].Load(), g, shift)
}

// decode returns what a word says.
func (t hot) decode(slot int, word uint64, g *grid, shift uint) (count uint64, sum uint128) {
	count = word >> sumBits & (1<<countBits - 1)
	hi, lo := bits.Mul64(count, uint64(g.lower[(t.first+slot)<<shift]))
	return count, uint128{hi, lo}.plus(uint128{0, word & (1<<sumBits - 1)})
}
