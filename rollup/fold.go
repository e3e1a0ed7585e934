// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

// decided is a decision while it is folded in. It lives on the stack.
type decided struct {
	n    int // how many timers and counters it has
	few  [16]entry
	more []entry // those beyond, which few decisions have

	// at is, for the stages that contain others, by slot, where they are among
	// the entries, plus 1. 0: not there, or not above 0.
	at [maxContainers]int32

	overflow Overflow
}

type entry struct {
	metric  *metric
	value   int64
	covered int64 // how much of a stage's time the stages in it took
}

func (d *decided) append(m *metric, value int64) {
	if d.n < len(d.few) {
		e := &d.few[d.n]
		e.metric, e.value = m, value
	} else {
		d.more = append(d.more, entry{metric: m, value: value})
	}
	d.n++
	if m.slot >= 0 && value > 0 {
		d.at[m.slot] = int32(d.n)
	}
}

func (d *decided) entry(i int) *entry {
	if i < len(d.few) {
		return &d.few[i]
	}
	return &d.more[i-len(d.few)]
}

// note takes in one metric of a decision.
func (r *Rollup) note(d *decided, key string, value any) {
	m := r.catalog.find(key)
	if m == nil {
		return
	}
	n, ok := value.(int64)
	if !ok {
		if n, ok = integer(value); !ok {
			d.overflow.Invalid++
			return
		}
	}
	r.noteAs(d, m, key, n)
}

func (r *Rollup) noteNumber(d *decided, key string, n int64) {
	if m := r.catalog.find(key); m != nil {
		r.noteAs(d, m, key, n)
	}
}

func (r *Rollup) noteAs(d *decided, m *metric, key string, n int64) {
	if n < 0 && m.kind == counterKind {
		d.overflow.Invalid++
		return
	}
	if m.column.Load() <= 0 {
		m = r.noteUnlabelled(d, m, key, n)
	}
	d.append(m, n)
}

// noteUnlabelled gives a metric its label, or counts why it has none.
func (r *Rollup) noteUnlabelled(d *decided, m *metric, key string, n int64) *metric {
	if m == r.catalog.labels(m.kind).unknown {
		m = r.newName(key)
	}
	if r.see(m) {
		if m.kind == counterKind {
			d.overflow.Counters += uint64(n)
		} else {
			d.overflow.Stages++
		}
	}
	return m
}

// fold adds the decision to what the rollup has.
func (r *Rollup) fold(d *decided, path string, o Outcome) {
	row, overflow := r.rowOf(path)
	if overflow {
		d.overflow.Paths++
	}
	row.outcomes[o.known()].Add(1)

	d.cover()
	for i := range d.n {
		e := d.entry(i)
		if e.metric.kind == counterKind {
			r.addCounter(d, row, e)
		} else {
			r.addTimer(d, row, e)
		}
	}
	if d.overflow != (Overflow{}) {
		r.overflow.add(&d.overflow)
	}
}

// cover takes the time of each stage from that of the nearest stage around it.
func (d *decided) cover() {
	for i := range d.n {
		e := d.entry(i)
		if e.value <= 0 {
			continue
		}
		for _, slot := range e.metric.around {
			if at := d.at[slot]; at > 0 {
				around := d.entry(int(at) - 1)
				around.covered += min(e.value, around.value-around.covered)
				break
			}
		}
	}
}

func (r *Rollup) addTimer(d *decided, row *row, e *entry) {
	c := r.cell(row, e.metric)
	if c.row != row {
		d.overflow.Histograms++
	}
	if e.value == 0 {
		c.unfinished.Add(1)
		return
	}
	if e.covered > 0 {
		c.covered.Add(uint64(e.covered)) // before the histogram: a snapshot never shows too much self time
	}
	c.histogram.Record(e.value)
}

func (r *Rollup) addCounter(d *decided, row *row, e *entry) {
	t := r.total(row, e.metric)
	if t.row != row {
		d.overflow.Events += uint64(e.value)
	}
	t.sum.Add(uint64(e.value))
}
