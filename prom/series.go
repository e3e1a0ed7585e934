// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import "github.com/regometer/regometer/rollup"

// MaxSeries returns how many series a text scrape of a Collector with these options can have at most, over a rollup
// with these limits, whatever its clients send. With the defaults of both it is below 2,000. A scrape of native
// histograms has one series for each histogram instead of one for each of its buckets, its count and its sum.
//
// How many there are now is the metric <namespace>_decision_metric_series.
func MaxSeries(l rollup.Limits, o Options) int {
	l = l.WithDefaults()
	buckets := len(o.ClassicBuckets)
	if o.ClassicBuckets == nil {
		buckets = len(defaultClassicExponents)
	}
	return l.Histograms*(textSeries(buckets)+1) + // the stages' durations and self times
		(l.Paths+1)*outcomes + // the paths and "other"
		l.Events +
		l.Stages + 1 + // unfinished ones; the stages and "other"
		len(overflows) + invalidReasons +
		1 // the number of series itself
}

// textSeries returns how many series a histogram of so many classic buckets has in text: the buckets, that of +Inf, the
// sum and the count.
func textSeries(buckets int) int { return buckets + 3 }
