// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import "sync/atomic"

// packedCounters are counters in 64-bit words. All of them have 8, 16, 32 or 64
// bits, as many as the largest one needs. One goroutine at a time may change
// them, while others read.
type packedCounters struct {
	words []atomic.Uint64
	width uint8 // a counter has 8<<width bits
}

// newPackedCounters returns at least n counters.
func newPackedCounters(n int, width uint8) packedCounters {
	perWord := 8 >> width
	return packedCounters{make([]atomic.Uint64, (n+perWord-1)/perWord), width}
}

func (c packedCounters) len() int { return len(c.words) << (3 - c.width) }

// at returns the word of counter i, and its shift in the word.
func (c packedCounters) at(i int) (word *atomic.Uint64, shift uint) {
	logPerWord := 3 - c.width
	return &c.words[i>>logPerWord], uint(i&(1<<logPerWord-1)) << (3 + c.width)
}

// copyTo fills dst with the counters from i on.
func (c packedCounters) copyTo(dst []uint64, i int) {
	limit := c.limit()
	for len(dst) > 0 {
		at, shift := c.at(i)
		word := at.Load() >> shift
		n := min(int(64-shift)>>(3+c.width), len(dst)) // counters left in this word
		for k := range dst[:n] {
			dst[k] = word & limit
			word >>= 8 << c.width
		}
		dst, i = dst[n:], i+n
	}
}

// all returns the counters.
func (c packedCounters) all() []uint64 {
	dst := make([]uint64, c.len())
	c.copyTo(dst, 0)
	return dst
}

// limit returns the greatest count that a counter can hold.
func (c packedCounters) limit() uint64 { return 1<<(8<<c.width) - 1 }

// add adds n to counter i, modulo 2^64, and returns the count. If the count
// needs wider counters, add changes nothing and returns false.
func (c packedCounters) add(i int, n uint64) (uint64, bool) {
	word, shift := c.at(i)
	w := word.Load()
	had := w >> shift & c.limit()
	if n > c.limit()-had && c.limit() != 1<<64-1 {
		return had, false
	}
	word.Store(w + n<<shift)
	return had + n, true
}
