// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"fmt"
	"slices"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/stages"
)

// Merge adds the contents of s, such as the snapshot of another rollup, as if
// its decisions had been added to r. The limits of r apply. Values without room
// in r are overflow, in addition to the overflow in s. Merge leaves out a
// path's stages that r does not keep by path.
//
// Merge fails, and changes nothing, if a histogram of s is not in nanoseconds,
// or if its explicit bounds differ from those of r. [Snapshot.Rebound] changes
// the bounds.
func (r *Rollup) Merge(s *Snapshot) error {
	for _, t := range s.histograms() {
		l := t.Histogram.Layout()
		if countDurations(t) > 0 && (l.Unit != exphist.Nanosecond || !slices.Equal(l.Bounds, r.options.Bounds)) {
			return fmt.Errorf("rollup: merge: the histogram of stage %q is in %ss with the explicit bounds %v: "+
				"it must be in nanoseconds with the bounds %v", t.Stage, l.Unit, l.Bounds, r.options.Bounds)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range s.Paths {
		p := &s.Paths[i]
		row, fits := r.rowOf(p.Label)
		for i, n := range p.outcomes {
			row.outcomes[i] += n
			if !fits {
				r.overflow.Paths += n
			}
		}
		for j := range p.Stages {
			t := &p.Stages[j]
			if at := slices.Index(r.options.PathStages, t.Stage); at >= 0 {
				row.byStage[at].merge(&r.options, t)
			}
		}
	}
	for i := range s.Stages {
		t := &s.Stages[i]
		m := r.metrics.find(stages.KeyOf(stages.Timer, t.Stage))
		timers, to := countDurations(t), &r.stages[m.Column]
		to.merge(&r.options, t)
		for cause, n := range t.unfinished {
			to.unfinished[cause] += n
			timers += n
		}
		if m.Overflows {
			r.overflow.Stages += timers
		}
	}
	for _, c := range s.Counters {
		m := r.metrics.find(stages.KeyOf(stages.Counter, c.Name))
		r.counters[m.Column].add(c.Total)
		if m.Overflows {
			r.overflow.Counters += c.Total
		}
	}
	for _, e := range s.Errors {
		r.errors[r.indexOfCode(e.Name)] += e.Total
	}
	r.overflow.add(&s.Overflow)
	return nil
}

// Rebound replaces the explicit bounds of all histograms by valid ones. The counts by the new
// bounds begin at 0, because earlier durations cannot be counted again. Nothing
// else changes. Rebound has no effect on histograms that have these bounds
// already.
func (s *Snapshot) Rebound(bounds []int64) {
	for _, t := range s.histograms() {
		t.Histogram.Rebound(bounds)
	}
}

// histograms returns the stages of each path, and the stages over all paths.
func (s *Snapshot) histograms() (all []*StageTotal) {
	add := func(stages []StageTotal) {
		for i := range stages {
			all = append(all, &stages[i])
		}
	}
	for i := range s.Paths {
		add(s.Paths[i].Stages)
	}
	add(s.Stages)
	return all
}
