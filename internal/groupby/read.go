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

// Group has the sums of the decisions of a key, in total and for each slice of
// time.
type Group struct {
	Key      string
	Outcomes [6]uint64           // by Outcome
	Errors   []rollup.ErrorTotal // by code; unknown codes are Other
	Counters []Counter           // by name; none is 0
	Stages   []Stage             // by name
	Slices   []Slice             // ascending; decisionlog.NoTime is first; each has decisions
}

// Slice has the sums of a group in a slice of time. Begin is in ns since 1970,
// or decisionlog.NoTime.
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

// Stage has the durations of a stage.
type Stage struct {
	Name       string
	Durations  exphist.Snapshot // in ns
	Unfinished uint64           // timers of 0
	Self       Sum              // in ns, without the stages in it
}

// SetDurations sets the durations by the smallest and the largest value, the
// sum, and the counts from bucket first on. It fails if no histogram can have
// them.
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

// Sums returns the groups by key in bytewise order, with group Other first if
// it has anything. Their slices of time have neither counters nor stages. A
// group is valid until the next one, unless it is cloned. Nothing may be added
// meanwhile.
func (g *Groups) Sums() iter.Seq[*Group] { return g.each(g.readSum) }

// Parts returns the same groups with Key, Errors and whole Slices, but without
// the sums over the slices.
func (g *Groups) Parts() iter.Seq[*Group] { return g.each(g.readParts) }

// each iterates over the groups, which read copies.
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

// Get returns the group of a key, with whole slices of time, or nil. The caller
// owns it.
func (g *Groups) Get(key string) *Group {
	g.sweep()
	if x := g.byKey[key]; x != nil {
		return g.whole(x)
	}
	return nil
}

// whole returns a copy of a group.
func (g *Groups) whole(x *group) *Group {
	to := new(Group)
	g.readParts(x, to)
	g.readCells(x, to)
	return to
}

// ReadSum makes to the group of a key as [Groups.Sums] has it, and reports
// whether there is one. It uses the memory of to again, which must be an empty
// group or one from ReadSum.
func (g *Groups) ReadSum(key string, to *Group) bool {
	g.sweep()
	x := g.byKey[key]
	if x != nil {
		g.readSum(x, to)
	}
	return x != nil
}

// Has reports whether a key has a group of its own.
func (g *Groups) Has(key string) bool { return g.byKey[key] != nil }

// Total returns all groups as one with an empty key. The caller owns it.
func (g *Groups) Total() *Group {
	g.sweep()
	var total group
	g.all(total.merge)
	return g.whole(&total)
}

// TotalSum is Total whose slices of time have neither counters nor stages.
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

// Clone returns a copy of a group from [Groups.Sums] that shares no memory with
// it.
func (x *Group) Clone() *Group {
	c := *x
	c.Errors, c.Counters, c.Stages, c.Slices = slices.Clone(x.Errors), slices.Clone(x.Counters), slices.Clone(x.Stages), slices.Clone(x.Slices)
	for i := range c.Stages {
		c.Stages[i].Durations = exphist.Snapshot{}
		if err := c.Stages[i].Durations.Merge(&x.Stages[i].Durations); err != nil {
			panic(err) // an empty snapshot takes any
		}
	}
	return &c
}

// readParts copies a group without the sums. Like the functions below, it uses
// the memory of to again.
func (g *Groups) readParts(x *group, to *Group) {
	g.readHead(x, to)
	for i := range x.cells {
		s := &to.Slices[i]
		g.readCell(&x.cells[i], &s.Outcomes, &s.Counters, &s.Stages)
	}
}

// readSum copies a group without the counters and stages of slices.
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

// readHead copies the parts of a group that are not sums over its cells.
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

// sort sorts the stages and counters by name.
func (c *cell) sort() {
	slices.SortFunc(c.stages, func(a, b stageCell) int { return strings.Compare(a.metric.Name, b.metric.Name) })
	slices.SortFunc(c.counters, func(a, b counterCell) int { return strings.Compare(a.metric.Name, b.metric.Name) })
}

// readCell sorts and copies a cell.
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

// extended returns s with one more element, and the element. It has the value
// from when s was longer, so that its memory is used again.
func extended[T any](s []T) ([]T, *T) {
	if len(s) == cap(s) {
		s = slices.Grow(s, 1)
	}
	s = s[:len(s)+1]
	return s, &s[len(s)-1]
}
