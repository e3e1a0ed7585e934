// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"sync/atomic"

	"github.com/regometer/regometer/exphist"
)

// row is what a path has: its outcomes, and the durations of each stage that is
// kept by path, once it has one.
type row struct {
	label    string
	outcomes [outcomes]atomic.Uint64
	byStage  []atomic.Pointer[durations] // by index in Options.PathStages
}

// durations are those of a stage, of one path or over all.
type durations struct {
	histogram *exphist.Histogram

	// covered is how much of the histogram's sum, in ns, the stages that it
	// contains took. A decision adds to it before it adds to the histogram.
	// self is the most that a snapshot said of the rest.
	covered, self atomic.Uint64
}

// record adds a duration, of which others took a part.
func (d *durations) record(ns, covered int64) {
	if covered > 0 {
		d.covered.Add(uint64(covered)) // before the histogram: a snapshot never shows too much self time
	}
	d.histogram.Record(ns)
}

// durationsAt returns the durations that at points to, made if need be.
func (r *Rollup) durationsAt(at *atomic.Pointer[durations]) *durations {
	if d := at.Load(); d != nil {
		return d
	}
	return r.newDurations(at)
}

// newDurations makes them, unless another goroutine was faster.
func (r *Rollup) newDurations(at *atomic.Pointer[durations]) *durations {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := at.Load(); d != nil {
		return d
	}
	d := &durations{histogram: r.newHistogram()}
	at.Store(d)
	return d
}

// Labels returns the paths that have a label, in the order in which they got
// it.
func (r *Rollup) Labels() []string {
	rows := (*r.rows.Load())[1:]
	labels := make([]string, len(rows))
	for i, row := range rows {
		labels[i] = row.label
	}
	return labels
}

func (r *Rollup) newRow(label string) *row {
	return &row{label: label, byStage: make([]atomic.Pointer[durations], len(r.pathStages))}
}
