// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"iter"
	"math/bits"
	"slices"
	"strings"

	"github.com/regometer/regometer/exphist"
)

// Group is what the decisions of a key came to. So is each of its slices of
// time.
type Group struct {
	Key      string
	Outcomes [6]uint64      // by Outcome
	Errors   []ErrorTotal   // by code; what has none that is known is Other
	Counters []GroupCounter // by name; none that is 0
	Stages   []GroupStage   // by name
	Slices   []GroupSlice   // ascending; the one of NoTime first; none without decisions
}

// GroupSlice is a slice of time, which begins at Begin, in ns since 1970, or is
// that of NoTime.
type GroupSlice struct {
	Begin    int64
	Outcomes [6]uint64
	Counters []GroupCounter
	Stages   []GroupStage
}

// GroupCounter is the total of a counter.
type GroupCounter struct {
	Name  string
	Total Sum
}

// GroupStage is what a stage took.
type GroupStage struct {
	Name       string
	Durations  exphist.Snapshot // in ns
	Unfinished uint64           // timers of 0, which are no durations
	Self       Sum              // in ns, without the stages that it contains
}

// Sum is an unsigned sum of 128 bits, Hi·2^64 + Lo.
type Sum struct{ Hi, Lo uint64 }

// Plus returns a + b, modulo 2^128.
func (a Sum) Plus(b Sum) Sum {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	return Sum{a.Hi + b.Hi + carry, lo}
}

// minus returns a − b, which is not more than a.
func (a Sum) minus(b Sum) Sum {
	lo, borrow := bits.Sub64(a.Lo, b.Lo, 0)
	return Sum{a.Hi - b.Hi - borrow, lo}
}

// All returns the groups by key in bytewise order, that of [Other] first if it
// has anything. A group is the caller's only until the next one, unless it is
// cloned. Nothing may be added meanwhile.
func (g *Groups) All() iter.Seq[*Group] { return g.each(g.read) }

// Sums is All whose slices of time have neither counters nor stages, which
// takes far less.
func (g *Groups) Sums() iter.Seq[*Group] { return g.each(g.readSum) }

// each is All of groups as read copies them.
func (g *Groups) each(read func(*group, *Group)) iter.Seq[*Group] {
	return func(yield func(*Group) bool) {
		g.sweep()
		groups := slices.SortedFunc(slices.Values(g.kept), func(a, b *group) int { return strings.Compare(a.key, b.key) })
		var to Group
		if len(g.other.cells) > 0 {
			groups = slices.Insert(groups, 0, g.other)
		}
		for _, x := range groups {
			read(x, &to)
			if !yield(&to) {
				return
			}
		}
	}
}

// Get returns the group of a key, as [Groups.All] has it, or nil. It is the
// caller's.
func (g *Groups) Get(key string) *Group {
	x := g.find(key)
	if x == nil {
		return nil
	}
	to := new(Group)
	g.read(x, to)
	return to
}

// ReadSum makes to the group of a key as [Groups.Sums] has it, and reports
// whether there is one. The memory of to, which is an empty group or one that
// was made so, is used again.
func (g *Groups) ReadSum(key string, to *Group) bool {
	x := g.find(key)
	if x == nil {
		return false
	}
	g.readSum(x, to)
	return true
}

// find returns the group of a key, or nil.
func (g *Groups) find(key string) *group {
	g.sweep()
	return g.byKey[key]
}

// Has reports whether a key has a group of its own.
func (g *Groups) Has(key string) bool { return g.byKey[key] != nil }

// Total returns all groups as one, whose key is empty. It is the caller's.
func (g *Groups) Total() *Group {
	g.sweep()
	var total group
	g.all(func(x *group) { total.merge(x, &g.empty) })
	to := new(Group)
	g.read(&total, to)
	return to
}

// TotalSum is Total as [Groups.Sums] would have it.
func (g *Groups) TotalSum() *Group {
	g.sweep()
	var total group // whose cells have outcomes alone
	var sum cell
	g.all(func(x *group) {
		for i := range x.cells {
			total.cell(x.cells[i].index).addOutcomes(&x.cells[i])
		}
		total.addErrors(x)
		x.sum(&sum, &g.empty)
	})
	to := new(Group)
	g.readHead(&total, to)
	sum.read(&to.Outcomes, &to.Counters, &to.Stages)
	return to
}

// Clone returns a copy that shares no memory with x.
func (x *Group) Clone() *Group {
	c := *x
	c.Errors = slices.Clone(x.Errors)
	c.Counters, c.Stages = slices.Clone(x.Counters), cloneStages(x.Stages)
	c.Slices = slices.Clone(x.Slices)
	for i := range c.Slices {
		s := &c.Slices[i]
		s.Counters, s.Stages = slices.Clone(s.Counters), cloneStages(s.Stages)
	}
	return &c
}

func cloneStages(stages []GroupStage) []GroupStage {
	c := slices.Clone(stages)
	for i := range c {
		c[i].Durations = exphist.Snapshot{}
		if err := c[i].Durations.Merge(&stages[i].Durations); err != nil {
			panic(err) // an empty snapshot takes any
		}
	}
	return c
}

// read copies what a group holds, into memory that is used again.
func (g *Groups) read(x *group, to *Group) {
	g.readSum(x, to)
	for i := range x.cells {
		s := &to.Slices[i]
		x.cells[i].read(&s.Outcomes, &s.Counters, &s.Stages)
	}
}

// readSum is read without the counters and stages of slices.
func (g *Groups) readSum(x *group, to *Group) {
	g.readHead(x, to)
	sum := new(cell)
	if len(x.cells) == 1 {
		sum = &x.cells[0]
	} else {
		x.sum(sum, &g.empty)
	}
	sum.read(&to.Outcomes, &to.Counters, &to.Stages)
}

// readHead is readSum without what sums up the cells.
func (g *Groups) readHead(x *group, to *Group) {
	to.Key = x.key
	to.Errors = to.Errors[:0]
	for _, e := range x.errors {
		to.Errors = append(to.Errors, ErrorTotal{codeAt(e.code), e.total})
	}
	slices.SortFunc(to.Errors, func(a, b ErrorTotal) int { return strings.Compare(a.Code, b.Code) })
	to.Slices = to.Slices[:0]
	for i := range x.cells {
		var s *GroupSlice
		to.Slices, s = extended(to.Slices)
		s.Begin, s.Outcomes = g.beginOf(x.cells[i].index), x.cells[i].outcomes
	}
}

// sort sorts what a cell holds by name.
func (c *cell) sort() {
	slices.SortFunc(c.stages, func(a, b stageCell) int { return strings.Compare(a.metric.name, b.metric.name) })
	slices.SortFunc(c.counters, func(a, b counterCell) int { return strings.Compare(a.metric.name, b.metric.name) })
}

// read copies what a cell holds, sorted by name. It sorts the cell too.
func (c *cell) read(outcomes *[outcomes]uint64, counters *[]GroupCounter, stages *[]GroupStage) {
	c.sort()
	*outcomes = c.outcomes
	*counters = (*counters)[:0]
	for i := range c.counters {
		t := &c.counters[i]
		*counters = append(*counters, GroupCounter{t.metric.name, t.total})
	}
	*stages = (*stages)[:0]
	for i := range c.stages {
		var s *GroupStage
		*stages, s = extended(*stages)
		c.stages[i].read(s)
	}
}

func (s *stageCell) read(to *GroupStage) {
	s.durations.Snapshot(&to.Durations)
	hi, lo := to.Durations.Sum()
	to.Name, to.Unfinished, to.Self = s.metric.name, s.unfinished, Sum{hi, lo}.minus(s.covered)
}
