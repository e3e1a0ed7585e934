// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import "github.com/regometer/regometer/rollup"

// MaxSeries returns how many series a text scrape can have at most of a
// Collector over a rollup with these options, whatever its clients send, or the
// error of these options. A scrape of native histograms has one series for each
// histogram instead of one for each of its buckets, its count and its sum.
//
// How many there are now is the metric <namespace>_decision_metric_series.
func MaxSeries(o rollup.Options) (int, error) {
	size, err := o.Size()
	stage := textSeries(o.Bounds.Len()) + 1 // durations and self time
	return size.Paths*(outcomes+size.PathStages*stage) +
		size.Stages*stage +
		size.Counters +
		size.Errors +
		2*size.Stages + 1 + // unfinished ones: of the three causes, one concerns one stage only
		len(overflows) + invalidReasons +
		1, err // the number of series itself
}

// textSeries returns how many series a histogram of so many classic buckets has
// in text: the buckets, that of +Inf, the sum and the count.
func textSeries(buckets int) int { return buckets + 3 }
