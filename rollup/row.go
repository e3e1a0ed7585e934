// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"sync/atomic"

	"github.com/regometer/regometer/exphist"
)

// row is what a path has: one cell for each stage and one total for each counter.
type row struct {
	label    string
	outcomes [outcomes]atomic.Uint64
	cells    columns[cell]
	totals   columns[total]
}

// cell is what a stage has on a path.
type cell struct {
	row        *row // path Other's, where a labelled path found no histogram left
	stage      string
	histogram  *exphist.Histogram
	unfinished atomic.Uint64

	// covered is how much of the histogram's sum, in ns, the stages that it
	// contains took. A decision adds to it before it adds to the histogram. self
	// is the most that a snapshot said of the rest.
	covered, self atomic.Uint64
}

// total is what a counter has on a path.
type total struct {
	row   *row
	event string
	sum   atomic.Uint64
}

// columns is a row's cells or totals by column, copied on write. An element
// once there stays.
type columns[T any] struct{ list atomic.Pointer[[]*T] }

func (c *columns[T]) get(column int) *T {
	if list := c.list.Load(); list != nil && column < len(*list) {
		return (*list)[column]
	}
	return nil
}

// all returns the elements, some of which are nil.
func (c *columns[T]) all() []*T {
	if list := c.list.Load(); list != nil {
		return *list
	}
	return nil
}

// set is called under the rollup's mutex.
func (c *columns[T]) set(column int, t *T) {
	old := c.all()
	list := make([]*T, max(len(old), column+1))
	copy(list, old)
	list[column] = t
	c.list.Store(&list)
}

// cell returns where a stage's values go for a path. Its row differs if there is
// no histogram left.
func (r *Rollup) cell(row *row, m *metric) *cell {
	if c := row.cells.get(m.place()); c != nil {
		return c
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newCell(row, m)
}

// newCell is called under the mutex.
func (r *Rollup) newCell(row *row, m *metric) *cell {
	column := m.place()
	c := row.cells.get(column)
	if c != nil {
		return c
	}
	switch {
	case row == r.other:
		c = &cell{row: row, stage: m.label(), histogram: exphist.New(exphist.Nanosecond)}
	case r.histogramsLeft > 0:
		r.histogramsLeft--
		c = &cell{row: row, stage: m.label(), histogram: exphist.New(exphist.Nanosecond)}
	default:
		c = r.newCell(r.other, m)
	}
	row.cells.set(column, c)
	return c
}

// total is the same for a counter.
func (r *Rollup) total(row *row, m *metric) *total {
	if t := row.totals.get(m.place()); t != nil {
		return t
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newTotal(row, m)
}

// newTotal is called under the mutex.
func (r *Rollup) newTotal(row *row, m *metric) *total {
	column := m.place()
	t := row.totals.get(column)
	if t != nil {
		return t
	}
	switch {
	case row == r.other:
		t = &total{row: row, event: m.label()}
	case r.totalsLeft > 0:
		r.totalsLeft--
		t = &total{row: row, event: m.label()}
	default:
		t = r.newTotal(r.other, m)
	}
	row.totals.set(column, t)
	return t
}
