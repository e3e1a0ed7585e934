// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"fmt"

	"github.com/regometer/regometer/exphist"
)

// Merge adds what s holds, such as the snapshot of another rollup, as if this
// one had been given its decisions. Labels are taken as they are: Options.Label
// is not asked. This rollup's limits hold: of s, a path that has no label here
// gets one if fewer than Limits.Paths have one, and if as many histograms and
// totals are left as it has. What does not fit is counted as overflow, also
// what s counted.
//
// It is an error, and changes nothing, if a histogram of s is not in
// nanoseconds.
func (r *Rollup) Merge(s *Snapshot) error {
	for i := range s.Paths {
		for j := range s.Paths[i].Stages {
			t := &s.Paths[i].Stages[j]
			if u := t.Histogram.Layout().Unit; samples(&t.Histogram) > 0 && u != exphist.Nanosecond {
				return fmt.Errorf("rollup: merge: the histogram of stage %q and path %q is in %ss: nanoseconds are needed",
					t.Stage, s.Paths[i].Label, u)
			}
		}
	}
	for i := range s.Paths {
		if err := r.mergePath(&s.Paths[i]); err != nil {
			return err
		}
	}
	r.overflow.add(&s.Overflow)
	return nil
}

func (r *Rollup) mergePath(p *Path) error {
	var o Overflow
	row, overflow := r.rowFor(p)
	for i, n := range p.Outcomes {
		row.outcomes[i].Add(n)
		if overflow {
			o.Paths += n
		}
	}
	for i := range p.Stages {
		t := &p.Stages[i]
		m, folded := r.named(stageKind, t.Stage)
		c := r.cell(row, m)
		c.covered.Add(without(&t.Histogram, t.Self))
		if err := c.histogram.Merge(&t.Histogram); err != nil {
			return fmt.Errorf("rollup: merge: stage %q, path %q: %w", t.Stage, p.Label, err)
		}
		c.unfinished.Add(t.Unfinished)
		timers := samples(&t.Histogram) + t.Unfinished
		if folded {
			o.Stages += timers
		}
		if c.row != row {
			o.Histograms += timers
		}
	}
	for _, e := range p.Events {
		m, folded := r.named(counterKind, e.Event)
		t := r.total(row, m)
		t.sum.Add(e.Total)
		if folded {
			o.Counters += e.Total
		}
		if t.row != row {
			o.Events += e.Total
		}
	}
	r.overflow.add(&o)
	return nil
}

// rowFor returns the row for a path of a snapshot.
func (r *Rollup) rowFor(p *Path) (row *row, overflow bool) {
	label := valid(p.Label)
	r.mu.Lock()
	defer r.mu.Unlock()
	if row := r.byLabel.get(label); row != nil {
		return row, false
	}
	if len(label) > maxName || !r.room(len(p.Stages), len(p.Events)) {
		return r.other, true
	}
	return r.newRow(label), false
}

// named returns the descriptor of a stage or counter, and whether it is Other's
// for lack of room.
func (r *Rollup) named(k kind, name string) (m *metric, overflow bool) {
	key := keyOf(k, name)
	if m = r.catalog.byKey.get(key); m == nil {
		m = r.newName(key)
	}
	return m, r.see(m)
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
		panic(err) // all histograms of a rollup are in nanoseconds
	}
	return c
}
