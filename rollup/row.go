// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"strings"
	"sync/atomic"

	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
)

// outcomes is the number of outcomes.
const outcomes = int(outcome.Cancelled) + 1

// row holds the outcomes of a path, and the durations of each stage that is
// kept by path.
type row struct {
	label    string
	outcomes [outcomes]atomic.Uint64
	byStage  []atomic.Pointer[durations] // by index in Options.PathStages; nil until the first duration
}

func (r *Rollup) newRow(label string) *row {
	return &row{label: label, byStage: make([]atomic.Pointer[durations], len(r.options.PathStages))}
}

// Labels returns the paths that have a label of their own, in the order in
// which they got it. The caller owns the slice.
func (r *Rollup) Labels() []string {
	rows := (*r.rows.Load())[1:]
	labels := make([]string, len(rows))
	for i, row := range rows {
		labels[i] = row.label
	}
	return labels
}

// Admit gives a path a label before its first decision, if there is room. It
// reports whether the path has a label now. The empty path and "other" have the
// label Other, and Admit returns true for them.
func (r *Rollup) Admit(path string) bool {
	_, fits := r.rowOf(path)
	return fits
}

// rowOf returns the row of a path. If there is no room for the path, it returns
// the row of path Other and false. It takes the lock only to make a row.
func (r *Rollup) rowOf(path string) (row *row, fits bool) {
	if row := r.byLabel.get(path); row != nil {
		return row, true
	}
	return r.admit(path)
}

// admit returns the row of a path that rowOf did not find, and makes it if
// there is room.
func (r *Rollup) admit(path string) (row *row, fits bool) {
	path = stages.Valid(path)
	// A row is in byLabel before it takes room. So if another goroutine has
	// just given the path the last room, byLabel has the row.
	full := len(path) > stages.MaxName || r.full()
	if row := r.byLabel.get(path); row != nil {
		return row, true
	}
	if full {
		return r.other, false
	}
	return r.addRow(path)
}

// addRow makes the row of a path, unless another goroutine has just made it or
// taken the last room.
func (r *Rollup) addRow(path string) (row *row, fits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if row := r.byLabel.get(path); row != nil {
		return row, true
	}
	if r.full() {
		return r.other, false
	}
	row = r.newRow(strings.Clone(path))
	r.byLabel.add(row.label, row)
	rows := append(*r.rows.Load(), row) // may write beyond the end of slices that others are reading
	r.rows.Store(&rows)
	return row, true
}

// full reports whether there is no room for another path.
func (r *Rollup) full() bool { return len(*r.rows.Load()) > r.options.Paths }
