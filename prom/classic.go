// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"fmt"
	"math"
)

// Classic buckets are counted from the exponential ones, so a bound must be one of theirs. Those of classicSchema
// remain bounds however far a histogram of the default layout is reduced: 640 buckets of schema 3 cover 80 octaves, and
// int64 has 63.
const classicSchema = 3

// A bound is the upper bound of a classic bucket: that of exponential bucket index of classicSchema.
type bound struct {
	index   int
	seconds float64 // 2^(index/8), the label le
}

// The default: powers of two, from 0.95 µs to 8 s.
var defaultClassicExponents = [...]int{-20, -17, -15, -13, -11, -9, -7, -5, -3, 0, 3}

// The durations that a histogram of nanoseconds can hold, in seconds.
const (
	shortest = 1e-9
	longest  = 9e9
)

// classicBounds returns the bounds nearest to those asked for, or an error that names the wrong one.
func classicBounds(asked []float64) ([]bound, error) {
	if asked == nil {
		bounds := make([]bound, len(defaultClassicExponents))
		for i, e := range defaultClassicExponents {
			bounds[i] = newBound(e << classicSchema)
		}
		return bounds, nil
	}
	bounds := make([]bound, len(asked))
	for i, b := range asked {
		switch {
		case math.IsInf(b, 1):
			return nil, fmt.Errorf("ClassicBuckets[%d] is +Inf: leave it out, that bucket is always there", i)
		case !(b > 0): // NaN too
			return nil, fmt.Errorf("ClassicBuckets[%d] is %v: a bound is a positive number of seconds", i, b)
		case b < shortest || b > longest:
			return nil, fmt.Errorf("ClassicBuckets[%d] is %v: a bound is between %v and %v seconds", i, b, shortest, longest)
		case i > 0 && b <= asked[i-1]:
			return nil, fmt.Errorf("ClassicBuckets[%d] is %v, after %v: bounds ascend", i, b, asked[i-1])
		}
		bounds[i] = newBound(int(math.Round(math.Log2(b) * (1 << classicSchema))))
		if i > 0 && bounds[i].index == bounds[i-1].index {
			return nil, fmt.Errorf("ClassicBuckets[%d] and [%d], %v and %v, are too close: both would be %v; leave one out",
				i-1, i, asked[i-1], b, bounds[i].seconds)
		}
	}
	return bounds, nil
}

func newBound(index int) bound {
	return bound{index: index, seconds: math.Exp2(float64(index) / (1 << classicSchema))}
}
