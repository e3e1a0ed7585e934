// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/rollup"
)

// Group is what the decisions of a key came to. So is each of its slices of
// time.
type Group struct {
	Key      string
	Outcomes [6]uint64           // by Outcome
	Errors   []rollup.ErrorTotal // by code; unknown codes are Other
	Counters []Counter           // by name; none is 0
	Stages   []Stage             // by name
	Slices   []Slice             // ascending, that of decisionlog.NoTime first; each has decisions
}

// Slice is a group's part of a slice of time, which begins at Begin, in ns
// since 1970, or is that of decisionlog.NoTime.
type Slice struct {
	Begin    int64
	Outcomes [6]uint64
	Counters []Counter
	Stages   []Stage
}

// Counter is the total of a counter.
type Counter struct {
	Name  string
	Total Sum
}

// Stage is what a stage took.
type Stage struct {
	Name       string
	Durations  exphist.Snapshot // in ns
	Unfinished uint64           // timers of 0
	Self       Sum              // in ns, without the stages that it contains
}

// SetDurations sets the durations to what a histogram with the smallest and
// the largest value, the sum and the counts from bucket first on holds. It
// fails if no histogram can hold them.
func (s *Stage) SetDurations(schema int, least, most int64, sum Sum, first int, counts []uint64) error {
	c := exphist.Content{Layout: Layout, Least: least, Most: most, SumHi: sum.Hi, SumLo: sum.Lo, First: first, Counts: counts}
	if most > 0 {
		c.Layout.Schema = schemaOf(least, most)
	}
	if schema != c.Layout.Schema {
		return fmt.Errorf("the schema is %d: for its values it must be %d", schema, c.Layout.Schema)
	}
	return s.Durations.Restore(&c)
}

// All returns the groups by key in bytewise order, that of Other first if it
// has anything. A group is the caller's only until the next one, unless it is
// cloned. Nothing may be added meanwhile.
func (g *Groups) All() iter.Seq[*Group] { return g.each(g.read) }

// Sums is All whose slices of time have neither counters nor stages, which
// takes far less.
func (g *Groups) Sums() iter.Seq[*Group] { return g.each(g.readSum) }

// Parts is All without the sums over the slices: with Key, Errors and Slices.
func (g *Groups) Parts() iter.Seq[*Group] { return g.each(g.readParts) }

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
	g.all(func(x *group) { total.merge(x) })
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
		x.sum(&sum)
	})
	to := new(Group)
	g.readHead(&total, to)
	g.readCell(&sum, &to.Outcomes, &to.Counters, &to.Stages)
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

func cloneStages(stages []Stage) []Stage {
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
	g.readParts(x, to)
	g.readCells(x, to)
}

// readParts is read without the sums.
func (g *Groups) readParts(x *group, to *Group) {
	g.readHead(x, to)
	for i := range x.cells {
		s := &to.Slices[i]
		g.readCell(&x.cells[i], &s.Outcomes, &s.Counters, &s.Stages)
	}
}

// readSum is read without the counters and stages of slices.
func (g *Groups) readSum(x *group, to *Group) {
	g.readHead(x, to)
	g.readCells(x, to)
}

// readCells copies the sum of a group's cells.
func (g *Groups) readCells(x *group, to *Group) {
	sum := new(cell)
	if len(x.cells) == 1 {
		sum = &x.cells[0]
	} else {
		x.sum(sum)
	}
	g.readCell(sum, &to.Outcomes, &to.Counters, &to.Stages)
}

// readHead is readSum without what sums up the cells.
func (g *Groups) readHead(x *group, to *Group) {
	to.Key = x.key
	to.Errors = append(to.Errors[:0], x.errors...)
	slices.SortFunc(to.Errors, func(a, b rollup.ErrorTotal) int { return strings.Compare(a.Code, b.Code) })
	to.Slices = to.Slices[:0]
	for i := range x.cells {
		var s *Slice
		to.Slices, s = extended(to.Slices)
		s.Begin, s.Outcomes = g.beginOf(x.cells[i].index), x.cells[i].outcomes
	}
}

// sort sorts what a cell holds by name.
func (c *cell) sort() {
	slices.SortFunc(c.stages, func(a, b stageCell) int { return strings.Compare(a.metric.Name, b.metric.Name) })
	slices.SortFunc(c.counters, func(a, b counterCell) int { return strings.Compare(a.metric.Name, b.metric.Name) })
}

// readCell copies what a cell holds, sorted by name. It sorts the cell too.
func (g *Groups) readCell(c *cell, outcomes *[outcomes]uint64, counters *[]Counter, stages *[]Stage) {
	c.sort()
	*outcomes = c.outcomes
	*counters = (*counters)[:0]
	for i := range c.counters {
		t := &c.counters[i]
		*counters = append(*counters, Counter{t.metric.Name, t.total})
	}
	*stages = (*stages)[:0]
	for i := range c.stages {
		var s *Stage
		*stages, s = extended(*stages)
		g.readStage(&c.stages[i], s)
	}
}

func (g *Groups) readStage(s *stageCell, to *Stage) {
	s.durations.snapshot(&to.Durations, &g.content)
	hi, lo := to.Durations.Sum()
	to.Name, to.Unfinished, to.Self = s.metric.Name, s.unfinished, Sum{hi, lo}.minus(s.covered)
}

// extended returns s with one element more, and that element, as it was when s
// was longer: its memory is used again.
func extended[T any](s []T) ([]T, *T) {
	if len(s) == cap(s) {
		s = slices.Grow(s, 1)
	}
	s = s[:len(s)+1]
	return s, &s[len(s)-1]
}
