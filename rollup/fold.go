// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

// folding is a decision while it is folded in. It lives on the stack.
type folding struct {
	n    int // how many timers and counters it has
	few  [16]entry
	more []entry // those beyond, which few decisions have

	// at is, for the stages that contain others, by slot, where they are among
	// the entries, plus 1. 0: not there, or not above 0.
	at [maxContainers]int32

	overflow Overflow
}

type entry struct {
	metric *metric
	value  int64

	// How much of a stage's time the stages in it took; and of that, what
	// stages took that are kept by path.
	covered, coveredOfPath int64
}

func (f *folding) put(m *metric, value int64) {
	if f.n < len(f.few) {
		e := &f.few[f.n]
		e.metric, e.value = m, value
	} else {
		f.more = append(f.more, entry{metric: m, value: value})
	}
	f.n++
	if m.slot >= 0 && value > 0 {
		f.at[m.slot] = int32(f.n)
	}
}

// reset empties f. Its memory is kept, unless that is much.
func (f *folding) reset() {
	clear(f.few[:min(f.n, len(f.few))])
	if f.n > 1000 {
		f.more = nil
	}
	f.n, f.more, f.at = 0, f.more[:0], [maxContainers]int32{}
}

func (f *folding) entry(i int) *entry {
	if i < len(f.few) {
		return &f.few[i]
	}
	return &f.more[i-len(f.few)]
}

// timers returns how many timers the decision has.
func (f *folding) timers() (n int) {
	for i := range f.n {
		if f.entry(i).metric.kind == stageKind {
			n++
		}
	}
	return n
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

func (r *Rollup) noteAs(f *folding, m *metric, key string, n int64) {
	if n < 0 && m.kind == counterKind {
		f.overflow.Invalid++
		return
	}
	if m.column == otherColumn {
		if m == r.catalog.labels(m.kind).unknown {
			m = r.admitName(key)
		}
		if m.overflows {
			f.overflow.name(m.kind, n)
		}
	}
	f.put(m, n)
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
	f.cover()
	for i := range f.n {
		e := f.entry(i)
		switch m := e.metric; {
		case m.kind == counterKind:
			r.counters[m.column].add(uint64(e.value))
		case e.value == 0:
			r.unfinished[m.column][causeOf(m, d)].Add(1)
		default:
			r.durationsAt(&r.stages[m.column]).record(e.value, e.covered)
			if m.pathIndex >= 0 {
				r.durationsAt(&row.byStage[m.pathIndex]).record(e.value, e.coveredOfPath)
			}
		}
	}
	if f.overflow != (Overflow{}) {
		r.overflow.add(&f.overflow)
	}
}

// cover takes the time of each stage from that of the nearest of its ancestors,
// and of those kept by path from that of the nearest that is kept.
func (f *folding) cover() {
	for i := range f.n {
		e := f.entry(i)
		if e.value <= 0 {
			continue
		}
		if a := f.nearest(e.metric.ancestors); a != nil {
			a.covered += min(e.value, a.value-a.covered)
		}
		if e.metric.pathIndex < 0 {
			continue
		}
		if a := f.nearest(e.metric.pathAncestors); a != nil {
			a.coveredOfPath += min(e.value, a.value-a.coveredOfPath)
		}
	}
}

// nearest returns the first of these stages that the decision has, or nil.
func (f *folding) nearest(slots []int) *entry {
	for _, slot := range slots {
		if at := f.at[slot]; at > 0 {
			return f.entry(int(at) - 1)
		}
	}
	return nil
}

func (c *counter) add(n uint64) {
	if !c.seen.Load() {
		c.seen.Store(true)
	}
	c.total.Add(n)
}
