// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"cmp"

	"github.com/regometer/regometer/rollup"
)

// MaxSeries returns how many series a text scrape of a Collector with these options can have at most, over a rollup
// with these limits, whatever its clients send. With the defaults of both it is below 2,000. A scrape of native
// histograms has one series for each histogram instead of one for each of its buckets, its count and its sum.
//
// How many there are now is the metric <namespace>_decision_metric_series.
func MaxSeries(l rollup.Limits, o Options) int {
	l = withDefaults(l)
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

// withDefaults puts in what rollup takes for a zero field.
func withDefaults(l rollup.Limits) rollup.Limits {
	return rollup.Limits{
		Paths:      cmp.Or(l.Paths, 50),
		Stages:     cmp.Or(l.Stages, 16),
		Counters:   cmp.Or(l.Counters, 16),
		Histograms: cmp.Or(l.Histograms, 100),
		Events:     cmp.Or(l.Events, 200),
	}
}
