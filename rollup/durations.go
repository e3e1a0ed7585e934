// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/regometer/regometer/exphist"
)

// durations holds the durations of a stage, of one path or over all paths.
type durations struct {
	histogram *exphist.Histogram

	// covered is the part of the histogram's sum, in ns, that the contained
	// stages took. record adds to it before it adds to the histogram.
	covered atomic.Uint64
	// self is the largest self time that a snapshot has returned.
	self atomic.Uint64
}

// durationsAt returns the durations in at. It makes them if there are none.
func (r *Rollup) durationsAt(at *atomic.Pointer[durations]) *durations {
	if d := at.Load(); d != nil {
		return d
	}
	return r.newDurations(at)
}

// newDurations makes the durations in at and returns them, unless another
// goroutine was faster.
func (r *Rollup) newDurations(at *atomic.Pointer[durations]) *durations {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := at.Load(); d != nil {
		return d
	}
	d := &durations{histogram: exphist.New(r.options.layout())}
	at.Store(d)
	return d
}

// record adds a duration. The contained stages took the covered part of it.
func (d *durations) record(ns, covered int64) {
	if covered > 0 {
		d.covered.Add(uint64(covered)) // before the histogram, so that no snapshot shows too much self time
	}
	d.histogram.Record(ns)
}

// merge adds the durations of a snapshot, whose layout must be the histogram's.
func (d *durations) merge(t *StageTotal) {
	d.covered.Add(sumMinus(&t.Histogram, t.Self))
	if err := d.histogram.Merge(&t.Histogram); err != nil {
		panic(err) // Rollup.Merge has checked the layout
	}
}

// snapshot copies d into t.
func (d *durations) snapshot(t *StageTotal) {
	d.histogram.Snapshot(&t.Histogram)
	t.Self = d.selfTime(&t.Histogram)
}

// selfTime returns the self time. h is a snapshot of the histogram that was
// just taken. While a decision is being added, covered may be ahead of the
// histogram. So selfTime returns the maximum so far, because self time must not
// fall from one snapshot to the next.
func (d *durations) selfTime(h *exphist.Snapshot) uint64 {
	self := sumMinus(h, d.covered.Load())
	for {
		old := d.self.Load()
		if old >= self {
			return old
		}
		if d.self.CompareAndSwap(old, self) {
			return self
		}
	}
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
