// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"math"
	"math/bits"
	"slices"

	"github.com/regometer/regometer/exphist"
)

// Snapshot is what a rollup held. The order of all lists is stable from one to
// the next.
type Snapshot struct {
	Paths    []Path // path Other comes first if it has anything, then the labelled ones as they came
	Stages   []StageTotal
	Counters []CounterTotal
	Errors   []ErrorTotal
	Overflow Overflow
}

// Path is what the decisions of one path label came to.
type Path struct {
	Label    string
	Outcomes [6]uint64    // by Outcome
	Stages   []StageTotal // those that are kept by path
}

// StageTotal is what a stage took, of one path or over all.
type StageTotal struct {
	Stage     string
	Histogram exphist.Snapshot // nanoseconds, exported in seconds; perhaps empty

	// Self is the time in ns without the stages that it contains and that are
	// listed beside it. It saturates.
	Self uint64

	// Unfinished is in how many decisions the timer was 0, by Cause. It is
	// known over all paths only.
	Unfinished [3]uint64
}

// CounterTotal is the total of a counter over all decisions. It wraps.
type CounterTotal struct {
	Counter string
	Total   uint64
}

// ErrorTotal is how many decisions ended in errors with a code, or with none
// that is known: Other.
type ErrorTotal struct {
	Code  string
	Total uint64
}

// Snapshot copies what the rollup holds into s, whose memory is used again:
// what s held before must no longer be used. Whoever adds meanwhile does not
// wait for it; of their decisions, parts may be missing. Each histogram is
// consistent in itself. No number is less than in an earlier snapshot, but for
// totals that wrapped.
func (r *Rollup) Snapshot(s *Snapshot) {
	s.Overflow = r.overflow.load()
	s.Paths = s.Paths[:0]
	for _, row := range *r.rows.Load() {
		var p *Path
		s.Paths, p = extended(s.Paths)
		r.snapshotRow(p, row)
		if row == r.other && p.empty() {
			s.Paths = s.Paths[:0]
		}
	}
	s.Stages = s.Stages[:0]
	for column, name := range r.catalog.stages.list() {
		var t *StageTotal
		s.Stages, t = extended(s.Stages)
		t.Stage = name
		found := r.stages[column].Load().snapshot(t)
		for cause := range t.Unfinished {
			t.Unfinished[cause] = r.unfinished[column][cause].Load()
			found = found || t.Unfinished[cause] > 0
		}
		if !found {
			s.Stages = s.Stages[:len(s.Stages)-1]
		}
	}
	s.Counters = s.Counters[:0]
	for column, name := range r.catalog.counters.list() {
		if c := &r.counters[column]; c.seen.Load() {
			s.Counters = append(s.Counters, CounterTotal{name, c.total.Load()})
		}
	}
	s.Errors = s.Errors[:0]
	for i := range r.errors {
		if n := r.errors[i].Load(); n > 0 {
			s.Errors = append(s.Errors, ErrorTotal{codeAt(i), n})
		}
	}
}

func (p *Path) empty() bool { return p.Outcomes == [outcomes]uint64{} && len(p.Stages) == 0 }

func (r *Rollup) snapshotRow(p *Path, w *row) {
	p.Label = w.label
	for o := range p.Outcomes {
		p.Outcomes[o] = w.outcomes[o].Load()
	}
	p.Stages = p.Stages[:0]
	for i, name := range r.pathStages {
		if d := w.byStage[i].Load(); d != nil {
			var t *StageTotal
			p.Stages, t = extended(p.Stages)
			t.Stage, t.Unfinished = name, [causes]uint64{}
			d.snapshot(t)
		}
	}
}

// snapshot fills in what d has. It returns false if d is nil.
func (d *durations) snapshot(t *StageTotal) bool {
	if d == nil {
		t.Histogram.Reset()
		t.Self = 0
		return false
	}
	d.histogram.Snapshot(&t.Histogram)
	t.Self = d.selfTime(&t.Histogram)
	return true
}

// selfTime returns the self time, given what the histogram held just before.
// Of decisions that are being added, covered may hold more than the histogram:
// without the maximum, self time would seem to go down at times.
func (d *durations) selfTime(h *exphist.Snapshot) uint64 {
	self := without(h, d.covered.Load())
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

// Rebound replaces the explicit bounds of all histograms. Their counts by these
// bounds begin at 0, since what was counted cannot be cut anew; all else stays.
// Equal bounds change nothing.
func (s *Snapshot) Rebound(b *exphist.Bounds) {
	for i := range s.Paths {
		for j := range s.Paths[i].Stages {
			s.Paths[i].Stages[j].Histogram.Rebound(b)
		}
	}
	for i := range s.Stages {
		s.Stages[i].Histogram.Rebound(b)
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
