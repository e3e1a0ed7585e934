// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"cmp"
	"slices"
	"strings"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// group has the sums of the decisions of a key.
type group struct {
	key    string
	cells  []cell // by index; each has at least one decision
	recent int    // the place in cells of the cell that was used last
	errors []stages.ErrorTotal
	sizes  Sizes
	period
}

// period has the first and the last time of decisions, or logread.NoTime twice.
type period struct{ first, last int64 }

var never = period{logread.NoTime, logread.NoTime}

func (p *period) widen(o period) {
	p.last = max(p.last, o.last)
	if p.first == logread.NoTime || o.first < p.first && o.first != logread.NoTime {
		p.first = o.first
	}
}

// cell has the sums of a group's decisions in one slice of time.
type cell struct {
	index    int64 // the slice begins at index·width; logread.NoTime for decisions without a time
	outcomes [outcomes]uint64
	stages   list[stageSums]
	counters list[Sum]
}

// outcomes is the number of outcomes.
const outcomes = int(outcome.Cancelled) + 1

type stageSums struct {
	durations  durations
	covered    Sum // the part of the durations' sum that contained stages took
	unfinished uint64
}

// list has sums for each of some metrics.
type list[T any] []entry[T]

type entry[T any] struct {
	metric *stages.Metric
	sums   T
}

// at returns the sums of a metric. It adds an entry if there is none. It looks
// at index hint first.
func (l *list[T]) at(hint int, m *stages.Metric) *T {
	if hint < len(*l) && (*l)[hint].metric == m {
		return &(*l)[hint].sums
	}
	at := slices.IndexFunc(*l, func(e entry[T]) bool { return e.metric == m })
	if at < 0 {
		at = len(*l)
		*l = append(*l, entry[T]{metric: m})
	}
	return &(*l)[at].sums
}

// reserve makes room for n entries.
func (l *list[T]) reserve(n int) { *l = append(make(list[T], 0, n), *l...) }

func (l list[T]) sort() {
	slices.SortFunc(l, func(a, b entry[T]) int { return strings.Compare(a.metric.Name, b.metric.Name) })
}

// decisions returns the number of decisions, or the largest uint64 if the
// number exceeds it.
func (c *cell) decisions() (n uint64) {
	for _, k := range c.outcomes {
		n = addSaturated(n, k)
	}
	return n
}

// addError counts n errors of a code.
func (x *group) addError(code string, n uint64) {
	at := slices.IndexFunc(x.errors, func(e stages.ErrorTotal) bool { return e.Code == code })
	if at < 0 {
		at = len(x.errors)
		x.errors = append(x.errors, stages.ErrorTotal{Code: code})
	}
	x.errors[at].Total += n
}

var codes = stages.ErrorCodes()

// codeOrOther returns the code, or Other if it is not one of OPA's codes.
func codeOrOther(code string) string {
	if slices.Contains(codes, code) {
		return code
	}
	return rollup.Other
}

// cell returns the group's cell for a slice. It makes the cell if there is
// none.
func (x *group) cell(index int64) *cell {
	at, ok := slices.BinarySearchFunc(x.cells, index, func(c cell, index int64) int { return cmp.Compare(c.index, index) })
	if !ok {
		x.cells = slices.Insert(x.cells, at, cell{index: index})
	}
	x.recent = at
	return &x.cells[at]
}

// double merges the cells that are in the same slice of twice the width.
func (x *group) double() {
	cells := x.cells[:0]
	for _, c := range x.cells {
		if c.index != logread.NoTime {
			c.index >>= 1
		}
		if n := len(cells); n > 0 && cells[n-1].index == c.index {
			cells[n-1].merge(&c)
		} else {
			cells = append(cells, c)
		}
	}
	if len(cells) < len(x.cells) {
		x.cells = slices.Clone(cells) // frees the memory of the others
	}
}

// merge adds the cells and errors of o, and does not change o.
func (x *group) merge(o *group) {
	x.widen(o.period)
	for i := range o.cells {
		x.cell(o.cells[i].index).merge(&o.cells[i])
	}
	for _, e := range o.errors {
		x.addError(e.Code, e.Total)
	}
	x.sizes.merge(&o.sizes)
}

func (c *cell) merge(o *cell) {
	for i, n := range o.outcomes {
		c.outcomes[i] += n
	}
	if c.stages == nil {
		c.stages.reserve(len(o.stages))
	}
	for i := range o.stages {
		c.stages.at(i, o.stages[i].metric).merge(&o.stages[i].sums)
	}
	for i := range o.counters {
		c.addCounter(i, o.counters[i].metric, o.counters[i].sums)
	}
}

func (s *stageSums) merge(o *stageSums) {
	s.durations.merge(&o.durations)
	s.covered = s.covered.Plus(o.covered)
	s.unfinished += o.unfinished
}

// add adds a timer's value. Contained stages took the part covered.
func (s *stageSums) add(value, covered int64) {
	if value == 0 {
		s.unfinished++
		return
	}
	s.durations.record(value)
	s.covered = s.covered.Plus(Sum{Lo: uint64(covered)})
}

// addCounter adds n to a counter, which is probably at index hint.
func (c *cell) addCounter(hint int, m *stages.Metric, n Sum) {
	total := c.counters.at(hint, m)
	*total = total.Plus(n)
}
