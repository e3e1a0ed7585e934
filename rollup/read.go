// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import "slices"

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

// Snapshot copies the rollup's contents into s. It uses the memory of s again,
// so the caller must no longer use the former contents. Each path is consistent
// in itself, and so is what is not by path. No number is smaller than in an
// earlier snapshot, except totals that wrapped.
func (r *Rollup) Snapshot(s *Snapshot) {
	rows := r.snapshotTotals(s)
	s.Paths = s.Paths[:0]
	for _, row := range rows {
		var p *Path
		s.Paths, p = extended(s.Paths)
		r.snapshotRow(p, row) // decisions wait for one path at a time
		if row == rows[0] && p.outcomes == [outcomes]uint64{} && len(p.Stages) == 0 {
			s.Paths = s.Paths[:0]
		}
	}
}

// snapshotTotals copies everything that is not by path, and returns the paths.
func (r *Rollup) snapshotTotals(s *Snapshot) []*row {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Overflow = r.overflow
	s.Stages = s.Stages[:0]
	for column, name := range r.metrics.stages {
		from := &r.stages[column]
		if from.histogram == nil && from.unfinished == [causes]uint64{} {
			continue
		}
		var t *StageTotal
		s.Stages, t = extended(s.Stages)
		t.Stage, t.unfinished = name, from.unfinished
		from.snapshot(t)
	}
	s.Counters = s.Counters[:0]
	for column, name := range r.metrics.counters {
		if c := &r.counters[column]; c.seen {
			s.Counters = append(s.Counters, Total{name, c.total})
		}
	}
	s.Errors = s.Errors[:0]
	for i, n := range r.errors {
		if n > 0 {
			s.Errors = append(s.Errors, Total{r.codes[i], n})
		}
	}
	return r.rows
}

func (r *Rollup) snapshotRow(p *Path, w *row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Label, p.outcomes = w.label, w.outcomes
	p.Stages = p.Stages[:0]
	for i, name := range r.options.PathStages {
		if d := &w.byStage[i]; d.histogram != nil {
			var t *StageTotal
			p.Stages, t = extended(p.Stages)
			t.Stage, t.unfinished = name, [causes]uint64{}
			d.snapshot(t)
		}
	}
}

// extended returns s with another element, and a pointer to it. The element
// still has its old content if s was longer before, so its memory can be used
// again.
func extended[T any](s []T) ([]T, *T) {
	s = slices.Grow(s, 1)[:len(s)+1]
	return s, &s[len(s)-1]
}
