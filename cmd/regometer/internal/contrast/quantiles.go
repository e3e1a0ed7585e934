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
	last := float64(len(x.before.total) - 1)
	u := bisect(-math.Abs(shift), last+math.Abs(shift), 1e-9, func(u float64) bool {
		return (x.before.above(u)+x.after.above(u+shift))/2 > 1-q
	})
	return newTest(x.before.side(u), x.after.side(u+shift)).tails(0)
}

// interval returns the range of the shifts, in buckets, that the tests do not
// reject. At twice the width, the two sides do not overlap any more.
func (x *Quantiles) interval(q, alpha float64) (low, high float64) {
	limit := 2 * float64(len(x.before.total)-1)
	return interval(x.shift(q), alpha, limit, limit, 1./1024, func(shift float64) (more, less float64) { return x.tails(q, shift) })
}
