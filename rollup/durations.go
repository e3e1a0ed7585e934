// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"math"
	"math/bits"

	"github.com/regometer/regometer/exphist"
)

// durations holds the durations of a stage, of one path or over all paths.
type durations struct {
	histogram *exphist.Histogram // nil until the first duration
	covered   uint64             // the part of the histogram's sum, in ns, that the contained stages took
}

// of returns the histogram. It makes the histogram if there is none.
func (d *durations) of(o *Options) *exphist.Histogram {
	if d.histogram == nil {
		d.histogram = exphist.New(o.layout())
	}
	return d.histogram
}

// record adds a duration. The contained stages took the covered part of it.
func (d *durations) record(o *Options, ns, covered int64) {
	d.of(o).Record(ns)
	d.covered += uint64(covered)
}

// merge adds the durations of a snapshot.
func (d *durations) merge(o *Options, t *StageTotal) {
	if countDurations(t) == 0 {
		return
	}
	d.covered += sumMinus(&t.Histogram, t.Self)
	if err := d.of(o).Merge(&t.Histogram); err != nil {
		panic(err) // Rollup.Merge has checked the layout
	}
}

// snapshot copies d into t.
func (d *durations) snapshot(t *StageTotal) {
	if t.Histogram.Reset(); d.histogram != nil {
		d.histogram.Snapshot(&t.Histogram)
	}
	t.Self = sumMinus(&t.Histogram, d.covered)
}

// sumMinus returns the histogram's sum minus n, limited to the range of a
// uint64.
func sumMinus(h *exphist.Snapshot, n uint64) uint64 {
	hi, lo := h.Sum()
	lo, borrow := bits.Sub64(lo, n, 0)
	switch {
	case hi < borrow:
		return 0
	case hi > borrow:
		return math.MaxUint64
	default:
		return lo
	}
}

// countDurations returns the number of durations, including negative ones.
func countDurations(t *StageTotal) uint64 { return t.Histogram.Count() + t.Histogram.Negatives() }
