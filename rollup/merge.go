// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"fmt"
	"slices"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/stages"
)

// Merge adds what s holds, such as the snapshot of another rollup, as if this
// one had been given its decisions. This rollup's limits hold: what has no
// label here and finds no room is counted as overflow, also what s counted. Of
// a path's stages, those are left out that this rollup does not keep by path.
//
// It is an error, and changes nothing, if a histogram of s is not in
// nanoseconds, or has other explicit bounds than this rollup's: see
// [Snapshot.Rebound].
func (r *Rollup) Merge(s *Snapshot) error {
	if err := r.checkMergeable(s); err != nil {
		return err
	}
	var o Overflow
	for i := range s.Paths {
		p := &s.Paths[i]
		row, overflow := r.rowOf(p.Label)
		for i, n := range p.Outcomes {
			row.outcomes[i].Add(n)
			if overflow {
				o.Paths += n
			}
		}
		for j := range p.Stages {
			t := &p.Stages[j]
			if at := slices.Index(r.pathStages, t.Stage); at >= 0 && samples(&t.Histogram) > 0 {
				if err := r.durationsAt(&row.byStage[at]).merge(t); err != nil {
					return fmt.Errorf("rollup: merge: stage %q, path %q: %w", t.Stage, p.Label, err)
				}
			}
		}
	}
	for i := range s.Stages {
		t := &s.Stages[i]
		m := r.metricOf(stages.Timer, t.Stage)
		timers := samples(&t.Histogram)
		if timers > 0 {
			if err := r.durationsAt(&r.stages[m.Column]).merge(t); err != nil {
				return fmt.Errorf("rollup: merge: stage %q: %w", t.Stage, err)
			}
		}
		for cause, n := range t.Unfinished {
			r.unfinished[m.Column][cause].Add(n)
			timers += n
		}
		if m.Overflows {
			o.Stages += timers
		}
	}
	for _, c := range s.Counters {
		m := r.metricOf(stages.Counter, c.Counter)
		r.counters[m.Column].add(c.Total)
		if m.Overflows {
			o.Counters += c.Total
		}
	}
	for _, e := range s.Errors {
		r.errors[indexOfCode(e.Code)].Add(e.Total)
	}
	r.overflow.add(&o)
	r.overflow.add(&s.Overflow)
	return nil
}

func (r *Rollup) checkMergeable(s *Snapshot) error {
	check := func(h *exphist.Snapshot, of string) error {
		if samples(h) == 0 {
			return nil
		}
		l := h.Layout()
		if l.Unit != exphist.Nanosecond {
			return fmt.Errorf("rollup: merge: the histogram of %s is in %ss: nanoseconds are needed", of, l.Unit)
		}
		if !l.Bounds.Equal(r.options.Bounds) {
			return fmt.Errorf("rollup: merge: the histogram of %s has the explicit bounds %v: here they are %v",
				of, l.Bounds, r.options.Bounds)
		}
		return nil
	}
	for i := range s.Paths {
		for j := range s.Paths[i].Stages {
			t := &s.Paths[i].Stages[j]
			if err := check(&t.Histogram, fmt.Sprintf("stage %q and path %q", t.Stage, s.Paths[i].Label)); err != nil {
				return err
			}
		}
	}
	for i := range s.Stages {
		if err := check(&s.Stages[i].Histogram, fmt.Sprintf("stage %q", s.Stages[i].Stage)); err != nil {
			return err
		}
	}
	return nil
}

func (d *durations) merge(t *StageTotal) error {
	d.covered.Add(without(&t.Histogram, t.Self))
	return d.histogram.Merge(&t.Histogram)
}

func samples(h *exphist.Snapshot) uint64 { return h.Count() + h.Negatives() }

// Clone returns a new rollup with the same options that holds the same.
func (r *Rollup) Clone() *Rollup {
	c, err := New(r.options)
	if err != nil {
		panic(err) // the same options were valid before
	}
	var s Snapshot
	r.Snapshot(&s)
	if err := c.Merge(&s); err != nil {
		panic(err) // its own histograms
	}
	return c
}
