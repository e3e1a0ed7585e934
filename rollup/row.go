// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"strings"

	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
)

// outcomes is the number of outcomes.
const outcomes = int(outcome.Cancelled) + 1

// row holds the outcomes of a path, and the durations of each stage that is
// kept by path.
type row struct {
	label    string
	outcomes [outcomes]uint64
	byStage  []durations // by index in Options.PathStages
}

// Labels returns the paths that have a label of their own, in the order in
// which they got it. The caller owns the slice.
func (r *Rollup) Labels() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	labels := make([]string, 0, len(r.rows)-1)
	for _, row := range r.rows[1:] {
		labels = append(labels, row.label)
	}
	return labels
}

// rowOf returns the row of a valid path, and makes it if there is room.
// Otherwise it returns the row of path Other and false. The caller holds the
// lock.
func (r *Rollup) rowOf(path string) (_ *row, fits bool) {
	if row := r.byLabel[path]; row != nil {
		return row, true
	}
	if len(path) > stages.MaxName || len(r.rows) > r.options.Paths {
		return r.rows[0], false
	}
	return r.addRow(path), true
}

// addRow makes the row of a path. The caller holds the lock.
func (r *Rollup) addRow(path string) *row {
	row := &row{label: strings.Clone(path), byStage: make([]durations, len(r.options.PathStages))}
	r.byLabel[row.label] = row
	r.rows = append(r.rows, row)
	return row
}
