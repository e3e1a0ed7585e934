// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import "github.com/regometer/regometer/internal/stages"

// folding is a decision while it is folded in. It lives on the stack.
type folding struct {
	stages.Folding
	overflow Overflow
}

// note takes in one metric of a decision.
func (r *Rollup) note(f *folding, key string, value any) {
	m := r.catalog.find(key)
	if m == nil {
		return
	}
	n, ok := value.(int64)
	if !ok {
		if n, ok = integer(value); !ok {
			f.overflow.Invalid++
			return
		}
	}
	r.noteAs(f, m, key, n)
}

func (r *Rollup) noteNumber(f *folding, key string, n int64) {
	if m := r.catalog.find(key); m != nil {
		r.noteAs(f, m, key, n)
	}
}

func (r *Rollup) noteAs(f *folding, m *stages.Metric, key string, n int64) {
	if n < 0 && m.Kind == stages.Counter {
		f.overflow.Invalid++
		return
	}
	if m.Column == stages.OtherColumn {
		if m == r.catalog.labels(m.Kind).unknown {
			m = r.admitName(key)
		}
		if m.Overflows {
			f.overflow.name(m.Kind, n)
		}
	}
	f.Put(m, n)
}

// fold adds the decision to what the rollup has.
func (r *Rollup) fold(f *folding, d *Decision) {
	row, overflow := r.rowOf(d.Path)
	if overflow || d.Overflow {
		f.overflow.Paths++
	}
	outcome := d.Outcome.known()
	row.outcomes[outcome].Add(1)
	if outcome == Error {
		r.errors[indexOfCode(d.Code)].Add(1)
	}
	f.Cover()
	for i := range f.N {
		e := f.At(i)
		switch m := e.Metric; {
		case m.Kind == stages.Counter:
			r.counters[m.Column].add(uint64(e.Value))
		case e.Value == 0:
			r.unfinished[m.Column][causeOf(m, d)].Add(1)
		default:
			r.durationsAt(&r.stages[m.Column]).record(e.Value, e.Covered)
			if m.PathIndex >= 0 {
				r.durationsAt(&row.byStage[m.PathIndex]).record(e.Value, e.CoveredOfPath)
			}
		}
	}
	if f.overflow != (Overflow{}) {
		r.overflow.add(&f.overflow)
	}
}

func (c *counter) add(n uint64) {
	if !c.seen.Load() {
		c.seen.Store(true)
	}
	c.total.Add(n)
}
