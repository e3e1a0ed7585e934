// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"strings"
	"sync/atomic"

	"github.com/regometer/regometer/exphist"
)

// row is what a path has: its outcomes, and a cell for each stage that is kept by
// path, once it has a value.
type row struct {
	label    string
	outcomes [outcomes]atomic.Uint64
	cells    []atomic.Pointer[cell] // by place in Options.PathStages
}

// cell is the durations of a stage, of one path or over all.
type cell struct {
	histogram *exphist.Histogram

	// covered is how much of the histogram's sum, in ns, the stages that it
	// contains took. A decision adds to it before it adds to the histogram. self
	// is the most that a snapshot said of the rest.
	covered, self atomic.Uint64
}

// record adds a duration, of which others took a part.
func (c *cell) record(ns, covered int64) {
	if covered > 0 {
		c.covered.Add(uint64(covered)) // before the histogram: a snapshot never shows too much self time
	}
	c.histogram.Record(ns)
}

// cellAt returns the cell that at points to, made if need be.
func (r *Rollup) cellAt(at *atomic.Pointer[cell]) *cell {
	if c := at.Load(); c != nil {
		return c
	}
	return r.newCell(at)
}

// newCell makes the cell, unless another goroutine was faster.
func (r *Rollup) newCell(at *atomic.Pointer[cell]) *cell {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := at.Load(); c != nil {
		return c
	}
	c := &cell{histogram: r.newHistogram()}
	at.Store(c)
	return c
}

// rowOf returns the row of the decisions of a path.
func (r *Rollup) rowOf(path string) (row *row, overflow bool) {
	if row := r.byLabel.get(path); row != nil {
		return row, false
	}
	return r.admit(path)
}

// Labels returns the paths that have a label, in the order in which they got it.
func (r *Rollup) Labels() []string {
	rows := (*r.rows.Load())[1:]
	labels := make([]string, len(rows))
	for i, row := range rows {
		labels[i] = row.label
	}
	return labels
}

// Admit gives a path a label before it has a decision, and reports whether it has
// one now.
func (r *Rollup) Admit(path string) bool {
	_, overflow := r.rowOf(path)
	return !overflow
}

// admit returns the row of a path that was not found, or path Other's if there
// is no room for it.
func (r *Rollup) admit(path string) (row *row, overflow bool) {
	if clean := valid(path); clean != path {
		path = clean
		if row := r.byLabel.get(path); row != nil {
			return row, false
		}
	}
	if len(path) > maxName || r.full() {
		return r.other, true
	}
	return r.newRow(path)
}

// newRow gives a path that was not found a label. Another goroutine may have been
// faster, and may have taken the last one.
func (r *Rollup) newRow(path string) (row *row, overflow bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if row := r.byLabel.get(path); row != nil {
		return row, false
	}
	if r.full() {
		return r.other, true
	}
	row = r.emptyRow(strings.Clone(path))
	r.byLabel.add(row.label, row)
	rows := append(*r.rows.Load(), row) // readers of the shorter slice do not see it
	r.rows.Store(&rows)
	return row, false
}

// full reports whether all labels of paths are given. Rows are never removed.
func (r *Rollup) full() bool { return len(*r.rows.Load()) > r.limits.Paths }

func (r *Rollup) emptyRow(label string) *row {
	return &row{label: label, cells: make([]atomic.Pointer[cell], len(r.kept))}
}
