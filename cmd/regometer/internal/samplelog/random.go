// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"math/bits"
	"math/rand/v2"
)

// Logarithms are to base 2, in units of 1/logOne. All arithmetic is on
// integers, because floating point differs between machines: some of them fuse
// a product and a sum.
const (
	logBits = 20
	logOne  = 1 << logBits
)

// powers holds 2^(i/1024), in units of 2^-40. A product without a sum gives the
// same bits on every machine.
var powers = func() (table [1025]uint64) {
	x := 1.0
	for i := range table {
		table[i] = uint64(x * (1 << 40))
		x *= 1.0006771306930664 // 2^(1/1024)
	}
	return table
}()

// source draws random numbers.
type source struct{ rand.PCG }

// newSource returns one of several independent sources of a seed.
func newSource(seed, stream uint64) *source {
	return &source{*rand.NewPCG(seed, stream)}
}

// below returns a number from 0 to n-1. All are equally likely.
func (s *source) below(n int) int {
	high, _ := bits.Mul64(s.Uint64(), uint64(n))
	return int(high)
}

// chance returns true with the probability share. It draws nothing if share is
// 0.
func (s *source) chance(share float64) bool {
	return share > 0 && s.Uint64() < uint64(share*(1<<53))<<11
}

// oneIn returns true once in n.
func (s *source) oneIn(n int) bool { return s.below(n) == 0 }

// normal returns a normally distributed number, as a logarithm, for a spread
// from spreadOf.
//
// The number of ones in 64 random bits has a binomial distribution. Two more
// uniform numbers make its density piecewise linear. The result is normal
// except for a kurtosis that is smaller by 0.03, up to eight standard
// deviations.
func (s *source) normal(spread int64) int64 {
	ones := int64(bits.OnesCount64(s.Uint64())) - 32
	v := s.Uint64()
	return ((ones<<16 + int64(v&0xffff) + int64(v>>16&0xffff) - 0xffff) * spread) >> 16
}

// spreadOf returns the argument of [source.normal] for a standard deviation in
// thousandths of a logarithm to base 2. The steps there have one of 4.0208.
func spreadOf(thousandths int64) int64 { return thousandths * logOne * 10 / 40208 }

// power returns 2 to the power of a logarithm, rounded down, at least 1.
func power(log int64) int64 {
	log = min(max(log, 0), 40*logOne)
	at, rest := log&(logOne-1)>>10, uint64(log&1023)
	low, high := powers[at], powers[at+1]
	return int64((low + (high-low)*rest>>10) >> (40 - log>>logBits))
}

// logOf returns the logarithm of x, which is at least 1.
func logOf(x uint64) int64 {
	whole := bits.Len64(x) - 1
	log := int64(whole)
	y := x << (63 - whole) // in units of 2^-63, 1 ≤ y < 2
	for range logBits {
		log <<= 1
		square, _ := bits.Mul64(y, y) // in units of 2^-62
		if square >= 1<<63 {
			log++
			y = square
		} else {
			y = square << 1
		}
	}
	return log
}

// A lognormal is a distribution of durations.
type lognormal struct{ median, spread int64 } // median as a logarithm

// newLognormal returns the distribution with a median, in ns, and a standard
// deviation in thousandths of a logarithm to base 2.
func newLognormal(median uint64, thousandths int64) lognormal {
	return lognormal{logOf(median), spreadOf(thousandths)}
}

// draw returns a duration in ns, multiplied by a factor, which is a logarithm.
func (s *source) draw(d lognormal, factor int64) int64 {
	return power(d.median + factor + s.normal(d.spread))
}

// wave is a random factor. Its logarithm changes from minute to minute, and is
// 0 on average.
type wave struct{ spread, now int64 }

func (w *wave) step(s *source) { w.now = (w.now*900 + s.normal(w.spread)*436) / 1000 }
