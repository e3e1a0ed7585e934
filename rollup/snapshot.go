// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"math"
	"math/bits"
	"slices"

	"github.com/regometer/regometer/exphist"
)

// Snapshot is what a rollup held. The order of paths and of what is in them is
// stable from one to the next: path Other comes first if it has anything, then
// the labelled ones as they came.
type Snapshot struct {
	Paths    []Path
	Overflow Overflow
}

// Path is what the decisions of one path label came to.
type Path struct {
	Label    string
	Outcomes [5]uint64 // by Outcome
	Stages   []StageTotal
	Events   []EventTotal
}

// StageTotal is what a stage of a path took.
type StageTotal struct {
	Stage      string
	Histogram  exphist.Snapshot // nanoseconds, exported in seconds; perhaps empty
	Self       uint64           // ns, without the stages that it contains; saturates
	Unfinished uint64           // decisions in which the timer was 0
}

// EventTotal is the sum of a counter over the decisions of a path. It wraps.
type EventTotal struct {
	Event string
	Total uint64
}

// Snapshot copies what the rollup holds into s, whose memory is used again: what
// s held before must no longer be used. Whoever adds meanwhile does not wait for
// it; of their decisions, parts may be missing. Each histogram is consistent in
// itself. No number is less than in an earlier snapshot, but for totals that
// wrapped.
func (r *Rollup) Snapshot(s *Snapshot) {
	s.Overflow = r.overflow.load()
	s.Paths = s.Paths[:0]
	for _, row := range *r.rows.Load() {
		var p *Path
		s.Paths, p = extended(s.Paths)
		row.snapshot(p)
		if row == r.other && p.empty() {
			s.Paths = s.Paths[:0]
		}
	}
}

func (p *Path) empty() bool {
	return p.Outcomes == [outcomes]uint64{} && len(p.Stages) == 0 && len(p.Events) == 0
}

func (w *row) snapshot(p *Path) {
	p.Label = w.label
	for o := range p.Outcomes {
		p.Outcomes[o] = w.outcomes[o].Load()
	}
	p.Stages = p.Stages[:0]
	for _, c := range w.cells.all() {
		if c != nil && c.row == w {
			var t *StageTotal
			p.Stages, t = extended(p.Stages)
			c.snapshot(t)
		}
	}
	p.Events = p.Events[:0]
	for _, t := range w.totals.all() {
		if t != nil && t.row == w {
			p.Events = append(p.Events, EventTotal{t.event, t.sum.Load()})
		}
	}
}

func (c *cell) snapshot(t *StageTotal) {
	t.Stage = c.stage
	t.Unfinished = c.unfinished.Load()
	c.histogram.Snapshot(&t.Histogram)
	t.Self = c.selfTime(&t.Histogram)
}

// selfTime returns the self time, given what the histogram held just before.
// Of decisions that are being added, covered may hold more than the histogram:
// without the maximum, self time would seem to go down at times.
func (c *cell) selfTime(h *exphist.Snapshot) uint64 {
	self := without(h, c.covered.Load())
	for {
		old := c.self.Load()
		if old >= self {
			return old
		}
		if c.self.CompareAndSwap(old, self) {
			return self
		}
	}
}

// without returns the sum of the histogram less n, neither below 0 nor above
// what a uint64 holds.
func without(h *exphist.Snapshot, n uint64) uint64 {
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

// extended returns s with one element more, and that element, as it was when s
// was longer: its memory is used again.
func extended[T any](s []T) ([]T, *T) {
	if len(s) == cap(s) {
		s = slices.Grow(s, 1)
	}
	s = s[:len(s)+1]
	return s, &s[len(s)-1]
}
