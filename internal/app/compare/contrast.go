// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import "math"

// contrast tests how far the q-quantile has moved from before to after. Both
// are on one grid.
type contrast struct {
	before, after *blocks
	q             float64
}

// estimate returns how far the quantile has moved, in buckets.
func (c contrast) estimate() float64 { return c.after.quantile(c.q) - c.before.quantile(c.q) }

// tails tests whether the quantile has moved by shift. It compares the share
// above a position before with the share above the moved position after. It
// returns two probabilities of a difference like this or larger if the quantile
// has moved by shift: to the side of a larger shift (more), and to the side of
// a smaller one (less).
func (c contrast) tails(shift float64) (more, less float64) {
	// Find the position above which both sides together have the share 1−q.
	low, high := -math.Abs(shift), float64(c.before.width)+math.Abs(shift)
	for range 50 {
		u := low + (high-low)/2
		if (c.before.above(u)+c.after.above(u+shift))/2 > 1-c.q {
			low = u
		} else {
			high = u
		}
	}
	b, vb, db := c.before.share(high, 1-c.q)
	a, va, da := c.after.share(high+shift, 1-c.q)
	p := tail(math.Abs(a-b)/math.Sqrt(vb+va), min(db, da))
	if a > b {
		return p, 1 - p
	}
	return 1 - p, p
}

// interval returns the range of the shifts, in buckets, that the tests do not
// reject. The error is at most alpha, half of it on either side. An end is
// infinite if the tests do not even reject the largest shift.
func (c contrast) interval(alpha float64) (low, high float64) {
	middle := c.estimate()
	low = middle - c.reach(alpha, func(d float64) float64 { p, _ := c.tails(middle - d); return p })
	high = middle + c.reach(alpha, func(d float64) float64 { _, p := c.tails(middle + d); return p })
	return low, high
}

// reach returns the largest distance that is not rejected. p returns the
// probability of the observed difference at a distance.
func (c contrast) reach(alpha float64, p func(distance float64) float64) float64 {
	accepted := func(d float64) bool { return p(d) >= alpha/2 }
	// At twice the width the two sides do not overlap any more.
	rejected := 2 * float64(c.before.width)
	if accepted(rejected) {
		return math.Inf(1)
	}
	// p may rise again further out, so search from the outside.
	const least = 1. / 1024
	d := rejected / 2
	for ; d > least && !accepted(d); d /= 2 {
		rejected = d
	}
	if d <= least {
		d = 0
	}
	for rejected-d > least {
		if m := d + (rejected-d)/2; accepted(m) {
			d = m
		} else {
			rejected = m
		}
	}
	return rejected
}
