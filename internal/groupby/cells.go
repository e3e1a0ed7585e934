// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"cmp"
	"math"
	"slices"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// group has the sums of the decisions of a key.
type group struct {
	key    string
	hash   uint64
	cells  []cell // by index; each has at least one decision
	last   int    // the place in cells of the cell that was used last
	errors []rollup.ErrorTotal
}

// cell has the sums of a group's decisions in one slice of time.
type cell struct {
	index    int64 // the slice begins at index·width, or is that of noTimeIndex
	outcomes [outcomes]uint64
	stages   []stageCell
	counters []counterCell
}

// outcomes is the number of outcomes.
const outcomes = int(outcome.Cancelled) + 1

// noTimeIndex is the index of the slice for decisions without a time.
const noTimeIndex = math.MinInt64

type stageCell struct {
	metric     *stages.Metric
	durations  durations
	covered    Sum // the part of the durations' sum that contained stages took
	unfinished uint64
}

type counterCell struct {
	metric *stages.Metric
	total  Sum
}

func (s stageCell) isDisplaced() bool   { return s.metric.Overflows }
func (t counterCell) isDisplaced() bool { return t.metric.Overflows }

func (x *group) rank() (uint64, string) { return x.hash, x.key }

func (x *group) decisions() (n uint64) {
	for i := range x.cells {
		for _, k := range x.cells[i].outcomes {
			n += k
		}
	}
	return n
}

// addError counts n errors of a code.
func (x *group) addError(code string, n uint64) {
	at := slices.IndexFunc(x.errors, func(e rollup.ErrorTotal) bool { return e.Code == code })
	if at < 0 {
		at = len(x.errors)
		x.errors = append(x.errors, rollup.ErrorTotal{Code: code})
	}
	x.errors[at].Total += n
}

var codes = rollup.ErrorCodes() // sorted

// codeOrOther returns the code, or Other if it is not one of OPA's codes.
func codeOrOther(code string) string {
	if at, ok := slices.BinarySearch(codes, code); ok {
		return codes[at]
	}
	return rollup.Other
}

// cellOf returns a group's cell for a time.
func (g *Groups) cellOf(x *group, time int64) *cell {
	index := int64(noTimeIndex)
	if time != decisionlog.NoTime {
		if time < g.begin || time > g.end {
			g.setCurrent(g.indexOf(time))
		}
		index = g.index
	}
	if x.last < len(x.cells) && x.cells[x.last].index == index {
		return &x.cells[x.last]
	}
	if _, ok := g.begins[index]; !ok && time != decisionlog.NoTime {
		g.begins[index] = struct{}{}
		g.fit()
		index = g.index // which fit changes if it doubles the width
	}
	return x.cell(index)
}

// indexOf returns the index of the slice that contains the time.
func (g *Groups) indexOf(time int64) int64 {
	index := time / g.width
	if time%g.width < 0 {
		index--
	}
	return index
}

// setCurrent makes the slice with this index the current one.
func (g *Groups) setCurrent(index int64) {
	g.index, g.begin, g.end = index, g.beginOf(index), math.MaxInt64
	if index < math.MaxInt64/g.width {
		g.end = (index+1)*g.width - 1
	}
}

// beginOf returns the time at which a slice begins. It is above
// decisionlog.NoTime for all slices with a time.
func (g *Groups) beginOf(index int64) int64 {
	if index == noTimeIndex {
		return decisionlog.NoTime
	}
	if index < math.MinInt64/g.width {
		return decisionlog.NoTime + 1
	}
	return max(index*g.width, decisionlog.NoTime+1)
}

// cell returns the group's cell for a slice. It makes the cell if there is
// none.
func (x *group) cell(index int64) *cell {
	at, ok := slices.BinarySearchFunc(x.cells, index, func(c cell, index int64) int { return cmp.Compare(c.index, index) })
	if !ok {
		x.cells = slices.Insert(x.cells, at, cell{index: index})
	}
	x.last = at
	return &x.cells[at]
}

// fitSlices doubles the width until at most limit slices have decisions, or
// until the width cannot be doubled again.
func (g *Groups) fitSlices(limit int) {
	for len(g.begins) > limit && g.width <= math.MaxInt64/2 {
		g.double()
	}
}

// double doubles the width, and merges the cells that are then in the same
// slice.
func (g *Groups) double() {
	g.width *= 2
	g.setCurrent(g.index >> 1)
	begins := make(map[int64]struct{}, len(g.begins))
	for index := range g.begins {
		begins[index>>1] = struct{}{}
	}
	g.begins = begins
	g.forEach((*group).double)
}

// double merges the cells that are in the same slice after the width has
// doubled.
func (x *group) double() {
	cells := x.cells[:0]
	for _, c := range x.cells {
		if c.index != noTimeIndex {
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
	for i := range o.cells {
		x.cell(o.cells[i].index).merge(&o.cells[i])
	}
	x.addErrors(o)
}

func (x *group) addErrors(o *group) {
	for _, e := range o.errors {
		x.addError(e.Code, e.Total)
	}
}

// addTo adds all cells of the group to one cell.
func (x *group) addTo(to *cell) {
	for i := range x.cells {
		to.merge(&x.cells[i])
	}
}

func (c *cell) addOutcomes(o *cell) {
	for i, n := range o.outcomes {
		c.outcomes[i] += n
	}
}

func (c *cell) merge(o *cell) {
	c.addOutcomes(o)
	c.reserve(len(o.stages))
	for i := range o.stages {
		c.mergeStage(&o.stages[i], o.stages[i].metric)
	}
	for i := range o.counters {
		c.mergeCounter(&o.counters[i], o.counters[i].metric)
	}
}

// mergeStage adds a stage, under metric m.
func (c *cell) mergeStage(o *stageCell, m *stages.Metric) {
	s := &c.stages[c.stageAt(m, 0)]
	s.durations.merge(&o.durations)
	s.covered = s.covered.Plus(o.covered)
	s.unfinished += o.unfinished
}

// mergeCounter adds a counter, under metric m.
func (c *cell) mergeCounter(o *counterCell, m *stages.Metric) {
	t := &c.counters[c.counterAt(m, 0)]
	t.total = t.total.Plus(o.total)
}

// stageAt returns the index of a metric's stage in c.stages. It tries the index
// place first. It adds the stage if there is none.
func (c *cell) stageAt(m *stages.Metric, place int) int {
	if place < len(c.stages) && c.stages[place].metric == m {
		return place
	}
	return c.findStage(m)
}

// findStage is stageAt without a place to try first.
func (c *cell) findStage(m *stages.Metric) int {
	for i := range c.stages {
		if c.stages[i].metric == m {
			return i
		}
	}
	n := len(c.stages)
	if n == cap(c.stages) {
		c.stages = append(make([]stageCell, 0, n+max(2, n/4)), c.stages...)
	}
	c.stages = append(c.stages, stageCell{metric: m})
	return n
}

// reserve makes room for the first stages. Most cells never get more stages
// than their first decision has.
func (c *cell) reserve(stages int) {
	if c.stages == nil {
		c.stages = make([]stageCell, 0, stages)
	}
}

// counterAt returns the index of a metric's counter in c.counters, as stageAt
// does for stages.
func (c *cell) counterAt(m *stages.Metric, place int) int {
	if place < len(c.counters) && c.counters[place].metric == m {
		return place
	}
	return c.findCounter(m)
}

// findCounter is counterAt without a place to try first.
func (c *cell) findCounter(m *stages.Metric) int {
	for i := range c.counters {
		if c.counters[i].metric == m {
			return i
		}
	}
	c.counters = append(c.counters, counterCell{metric: m})
	return len(c.counters) - 1
}

// add adds a timer's value. Contained stages took the part covered.
func (s *stageCell) add(value, covered int64) {
	if value == 0 {
		s.unfinished++
		return
	}
	s.durations.record(value)
	s.covered = s.covered.Plus(Sum{Lo: uint64(covered)})
}

func (t *counterCell) add(n uint64) { t.total = t.total.Plus(Sum{Lo: n}) }
