// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"iter"
	"slices"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
)

// Snapshot is a copy of a rollup's contents. All lists keep their order from
// one snapshot to the next.
type Snapshot struct {
	Paths    []Path // path Other first, unless it is empty; then the others in the order of Rollup.Labels
	Stages   []StageTotal
	Counters []Total
	Errors   []Total // the code Other stands for other codes and for errors without a code
	Overflow Overflow
}

// Path holds the sums of the decisions with one path label.
type Path struct {
	Label    string
	Stages   []StageTotal // those that are kept by path
	outcomes [outcomes]uint64
}

// Outcomes returns an iterator over all outcomes, with the number of decisions
// that ended so. Later releases may have more outcomes.
func (p *Path) Outcomes() iter.Seq2[outcome.Outcome, uint64] {
	return func(yield func(outcome.Outcome, uint64) bool) {
		for o, n := range p.outcomes {
			if !yield(outcome.Outcome(o), n) {
				return
			}
		}
	}
}

// StageTotal holds the durations of a stage, of one path or over all paths.
type StageTotal struct {
	Stage     string
	Histogram exphist.Snapshot // nanoseconds, exported in seconds; may be empty

	// Self is the time in ns without the contained stages that are in the same
	// list. It does not exceed the largest uint64.
	Self uint64

	unfinished [causes]uint64 // 0 for stages by path
}

// Unfinished returns an iterator over the causes for which the timer was 0 in a
// decision, with the number of such decisions. It leaves out causes without one.
// There are none for stages by path. Later releases may have more causes:
//
//   - "unknown": the timer was still running when the decision was logged, or
//     its time is below the clock's resolution.
//   - "query": the decision answers POST /v1/query. OPA always logs such a
//     decision before it stops the handler's timer.
//   - "failed": the decision failed or was cancelled within the stage.
func (t *StageTotal) Unfinished() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for c, n := range t.unfinished {
			if n > 0 && !yield(causeNames[c], n) {
				return
			}
		}
	}
}

// Total is the total of a counter over all decisions, modulo 2^64, or the number
// of decisions that ended in an error with this code.
type Total struct {
	Name  string
	Total uint64
}

// Overflow counts invalid values, and values that have the label Other because
// there is no room.
type Overflow struct {
	Paths    uint64 // decisions whose path has no label of its own, because of the limit
	Stages   uint64 // timers of stages without a label
	Counters uint64 // the sum of the counters without a label

	// Invalid counts ignored values of timers and counters. These are values
	// that are not integers of 64 bits, and negative counters.
	Invalid uint64
}

// The causes of unfinished timers.
const (
	causeUnknown = iota
	causeQuery
	causeFailed

	causes
)

var causeNames = [causes]string{"unknown", "query", "failed"}

func causeOf(m *stages.Metric, d *Decision) int {
	switch {
	case (d.Query || d.Path == outcome.Query) && m.Name == "server_handler":
		return causeQuery
	case d.Outcome == outcome.Failed || d.Outcome == outcome.Cancelled:
		return causeFailed
	default:
		return causeUnknown
	}
}

// Snapshot copies the rollup's contents into s. It uses the memory of s again,
// so the caller must no longer use the former contents. Of decisions that are
// being added, parts may be missing. Each histogram is consistent in itself. No
// number is smaller than in an earlier snapshot, except totals that wrapped.
func (r *Rollup) Snapshot(s *Snapshot) {
	s.Overflow = Overflow{
		Paths: r.overflow.paths.Load(), Stages: r.overflow.stages.Load(),
		Counters: r.overflow.counters.Load(), Invalid: r.overflow.invalid.Load(),
	}
	s.Paths = s.Paths[:0]
	for _, row := range *r.rows.Load() {
		var p *Path
		s.Paths, p = extended(s.Paths)
		r.snapshotRow(p, row)
		if row == r.other && p.outcomes == [outcomes]uint64{} && len(p.Stages) == 0 {
			s.Paths = s.Paths[:0]
		}
	}
	s.Stages = s.Stages[:0]
	for column, name := range r.metrics.stages {
		unfinished := [causes]uint64{}
		for cause := range unfinished {
			unfinished[cause] = r.unfinished[column][cause].Load()
		}
		d := r.stages[column].Load()
		if d == nil && unfinished == [causes]uint64{} {
			continue
		}
		var t *StageTotal
		s.Stages, t = extended(s.Stages)
		t.Stage, t.unfinished = name, unfinished
		if d == nil {
			t.Histogram.Reset()
			t.Self = 0
		} else {
			d.snapshot(t)
		}
	}
	s.Counters = s.Counters[:0]
	for column, name := range r.metrics.counters {
		if c := &r.counters[column]; c.seen.Load() {
			s.Counters = append(s.Counters, Total{name, c.total.Load()})
		}
	}
	s.Errors = s.Errors[:0]
	for i := range r.errors {
		if n := r.errors[i].Load(); n > 0 {
			code := Other
			if i < len(r.codes) {
				code = r.codes[i]
			}
			s.Errors = append(s.Errors, Total{code, n})
		}
	}
}

func (r *Rollup) snapshotRow(p *Path, w *row) {
	p.Label = w.label
	for o := range p.outcomes {
		p.outcomes[o] = w.outcomes[o].Load()
	}
	p.Stages = p.Stages[:0]
	for i, name := range r.options.PathStages {
		if d := w.byStage[i].Load(); d != nil {
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
