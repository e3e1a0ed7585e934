// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package contrast

import (
	"math"
	"slices"

	"github.com/regometer/regometer/exphist"
)

// Quantiles compares the quantiles of durations that come in slices of time.
type Quantiles struct {
	before, after *blocks // on the same buckets
	step          float64 // natural logarithm of the ratio of a bucket's bounds
	origin        float64 // natural logarithm, in ns, of position 0
}

// NewQuantiles returns a comparison of durations in ns, without bounds. The
// slices of each side are in the order of time, and have durations. It returns
// nil if a side has no slice, or if all durations are 0.
func NewQuantiles(before, after []*exphist.Snapshot) *Quantiles {
	var all exphist.Snapshot
	for _, s := range slices.Concat(before, after) {
		_ = all.Merge(s) // all have the same layout
	}
	schema := all.Layout().Schema
	first, counts := all.Buckets()
	if len(before) == 0 || len(after) == 0 || len(counts) == 0 {
		return nil
	}
	step := math.Ldexp(math.Ln2, -schema) // bounds are powers of two of a second
	return &Quantiles{
		newBlocks(schema, first, len(counts), before), newBlocks(schema, first, len(counts), after),
		step, float64(first-1)*step + math.Log(1e9),
	}
}

// value returns the nanoseconds at position u.
func (x *Quantiles) value(u float64) float64 { return math.Exp(x.origin + u*x.step) }

// Compare compares the q-quantile, in ns. Low and High are relative: 0.2 is 20 %
// more. They are wrong with a probability of alpha. Low is −1 and High is +Inf
// if the interval has no such end.
func (x *Quantiles) Compare(q, alpha float64) Difference {
	more, less := x.tails(q, 0)
	low, high := x.interval(q, alpha)
	return Difference{
		x.value(x.before.quantile(q)), x.value(x.after.quantile(q)),
		math.Expm1(low * x.step), math.Expm1(high * x.step), 2 * min(more, less),
	}
}

// shift returns how far the q-quantile has moved, in buckets.
func (x *Quantiles) shift(q float64) float64 { return x.after.quantile(q) - x.before.quantile(q) }

// tails tests whether the q-quantile has moved by shift. It compares the share
// above a position before with the share above the moved position after. It
// returns two probabilities of a difference like this or larger if the quantile
// has moved by shift: to the side of a larger shift (more), and to the side of
// a smaller one (less).
func (x *Quantiles) tails(q, shift float64) (more, less float64) {
	// Find the position above which both sides together have the share 1−q.
	low, high := -math.Abs(shift), float64(len(x.before.total)-1)+math.Abs(shift)
	for range 50 {
		u := low + (high-low)/2
		if (x.before.above(u)+x.after.above(u+shift))/2 > 1-q {
			low = u
		} else {
			high = u
		}
	}
	return newTest(x.before.side(high), x.after.side(high+shift)).tails(0)
}

// interval returns the range of the shifts, in buckets, that the tests do not
// reject, half of alpha on either side. An end is infinite if the tests do not
// even reject the largest shift.
func (x *Quantiles) interval(q, alpha float64) (low, high float64) {
	// At twice the width the two sides do not overlap any more.
	const least = 1. / 1024
	middle, limit := x.shift(q), 2*float64(len(x.before.total)-1)
	low = middle - reach(limit, least, func(d float64) bool { p, _ := x.tails(q, middle-d); return p >= alpha/2 })
	high = middle + reach(limit, least, func(d float64) bool { _, p := x.tails(q, middle+d); return p >= alpha/2 })
	return low, high
}
