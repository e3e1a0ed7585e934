// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

// counters are counters in 64-bit words. All of them have 8, 16, 32 or 64 bits,
// as many as the largest one needs.
type counters struct {
	words []uint64
	width uint8 // a counter has 8<<width bits
}

// newCounters returns at least n counters.
func newCounters(n int, width uint8) counters {
	perWord := 8 >> width
	return counters{make([]uint64, (n+perWord-1)/perWord), width}
}

func (c *counters) len() int { return len(c.words) << (3 - c.width) }

// limit returns the greatest count that a counter can hold.
func (c *counters) limit() uint64 { return 1<<(8<<c.width) - 1 }

// at returns the index of the word of counter i, and its shift in the word.
func (c *counters) at(i int) (word int, shift uint) {
	perWord := uint(3-c.width) & 3 // its logarithm
	return i >> perWord, uint(i) << (3 + c.width&3) & 63
}

// add adds n to counter i, modulo 2^64. It widens the counters if necessary.
func (c *counters) add(i int, n uint64) {
	word, shift := c.at(i)
	for n > c.limit()-c.words[word]>>shift&c.limit() && c.limit() != 1<<64-1 {
		all := c.all()
		*c = newCounters(len(all), c.width+1)
		for k, count := range all {
			to, by := c.at(k)
			c.words[to] += count << by
		}
		word, shift = c.at(i)
	}
	c.words[word] += n << shift
}

// copyTo fills dst with the counters from i on.
func (c *counters) copyTo(dst []uint64, i int) {
	limit := c.limit()
	for len(dst) > 0 {
		at, shift := c.at(i)
		word := c.words[at] >> shift
		n := min(int(64-shift)>>(3+c.width), len(dst)) // counters left in this word
		for k := range dst[:n] {
			dst[k] = word & limit
			word >>= 8 << c.width
		}
		dst, i = dst[n:], i+n
	}
}

// all returns the counters.
func (c *counters) all() []uint64 {
	dst := make([]uint64, c.len())
	c.copyTo(dst, 0)
	return dst
}
