// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import "github.com/regometer/regometer/rollup"

// MaxSeries returns the largest number of series that a text scrape of a
// Collector over a rollup with these options can have, whatever clients send.
// It fails if the options are invalid. A scrape of native histograms has one
// series for each histogram, instead of one for each bucket, the count and the
// sum.
//
// The metric <namespace>_decision_metric_series has the current number.
func MaxSeries(o rollup.Options) (int, error) {
	size, err := o.Size()
	stage := textSeries(len(o.Bounds)) + 1 // durations and self time
	return size.Paths*(len(outcomes)+size.PathStages*stage) +
		size.Stages*stage +
		size.Counters +
		size.Errors +
		2*size.Stages + 1 + // unfinished ones: one of the three causes concerns only one stage
		3 + // kinds of overflow
		2 + // reasons of invalid values
		1, err // the number of series itself
}

// textSeries returns the number of series of a histogram in a text scrape.
// These are the buckets, the bucket of +Inf, the sum and the count.
func textSeries(buckets int) int { return buckets + 3 }
