// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import "sync/atomic"

// lanes are counters packed into 64-bit words, all as wide as the largest needs:
// 8, 16, 32 or 64 bits. One goroutine at a time may change them, while any read.
type lanes struct {
	words []atomic.Uint64
	width uint8 // a counter has 8<<width bits
}

// newLanes returns at least n counters.
func newLanes(n int, width uint8) lanes {
	perWord := 8 >> width
	return lanes{make([]atomic.Uint64, (n+perWord-1)/perWord), width}
}

func (l lanes) len() int { return len(l.words) << (3 - l.width) }

// at returns the word of counter i and how far it is shifted there.
func (l lanes) at(i int) (word *atomic.Uint64, shift uint) {
	logPerWord := 3 - l.width
	return &l.words[i>>logPerWord], uint(i&(1<<logPerWord-1)) << (3 + l.width)
}

// copyTo fills dst with the counters from i on.
func (l lanes) copyTo(dst []uint64, i int) {
	limit := l.limit()
	for len(dst) > 0 {
		at, shift := l.at(i)
		word := at.Load() >> shift
		n := min(int(64-shift)>>(3+l.width), len(dst)) // counters left in this word
		for k := range dst[:n] {
			dst[k] = word & limit
			word >>= 8 << l.width
		}
		dst, i = dst[n:], i+n
	}
}

// all returns the counters.
func (l lanes) all() []uint64 {
	dst := make([]uint64, l.len())
	l.copyTo(dst, 0)
	return dst
}

// limit is the greatest count.
func (l lanes) limit() uint64 { return 1<<(8<<l.width) - 1 }

// add adds n to counter i, modulo 2^64, and returns the count. It does nothing
// and returns false if the counter is too narrow.
func (l lanes) add(i int, n uint64) (uint64, bool) {
	word, shift := l.at(i)
	w := word.Load()
	had := w >> shift & l.limit()
	if n > l.limit()-had && l.limit() != 1<<64-1 {
		return had, false
	}
	word.Store(w + n<<shift)
	return had + n, true
}
