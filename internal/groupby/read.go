// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"iter"
	"slices"
	"strings"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/rollup"
)

// Group has the sums of the decisions of a key, over all time and for each
// slice of time.
type Group struct {
	Key      string
	Outcomes [6]uint64           // by Outcome
	Errors   []rollup.ErrorTotal // sorted by code; unknown codes are Other
	Counters []Counter           // sorted by name; none is 0
	Stages   []Stage             // sorted by name
	Slices   []Slice             // ascending, with decisionlog.NoTime first; each has decisions
}

// Slice has the sums of a group in a slice of time. Begin is in ns since 1970,
// or decisionlog.NoTime.
type Slice struct {
	Begin    int64     `json:"begin"`
	Outcomes [6]uint64 `json:"outcomes"`
	Stages   []Stage   `json:"stages,omitempty"`
	Counters []Counter `json:"counters,omitempty"`
}

// Counter is the total of a counter.
type Counter struct {
	Name  string `json:"counter"`
	Total Sum    `json:"total"`
}

// Stage has the durations of a stage.
type Stage struct {
	Name       string
	Durations  exphist.Snapshot // in ns
	Unfinished uint64           // timers of 0
	Self       Sum              // in ns, without the stages in it
}

// Took returns the sum of the durations, in ns.
func (s *Stage) Took() Sum {
	hi, lo := s.Durations.Sum()
	return Sum{hi, lo}
}

// SetDurations sets the durations from the smallest and the largest value, the
// sum, and the counts from bucket first on. It fails if no histogram can have
// these numbers.
func (s *Stage) SetDurations(least, most int64, sum Sum, first int, counts []uint64) error {
	return s.Durations.Restore(&exphist.Content{
		Layout: Layout, Least: least, Most: most, SumHi: sum.Hi, SumLo: sum.Lo, First: first, Counts: counts,
	})
}

// Sums returns an iterator over the groups, sorted by the bytes of their keys.
// Group Other comes first if it has decisions. The slices of the groups have
// neither counters nor stages. A group is valid only until the next one, so
// clone it to keep it. Do not change g during the iteration.
func (g *Groups) Sums() iter.Seq[*Group] { return g.each(g.readSum) }

// Parts returns an iterator over the same groups. They have Key, Errors and
// complete Slices, but no sums over the slices.
func (g *Groups) Parts() iter.Seq[*Group] { return g.each(g.readParts) }

// each returns an iterator over the groups. read copies each of them.
func (g *Groups) each(read func(*group, *Group)) iter.Seq[*Group] {
	return func(yield func(*Group) bool) {
		g.sweep()
		groups := slices.SortedFunc(g.all(), func(a, b *group) int {
			switch {
			case a == g.other:
				return -1
			case b == g.other:
				return 1
			}
			return strings.Compare(a.key, b.key)
		})
		var to Group
		for _, x := range groups {
			if len(x.cells) == 0 { // only group Other can be empty
				continue
			}
			read(x, &to)
			if !yield(&to) {
				return
			}
		}
	}
}

// Get returns the group of a key with complete slices of time, or nil if there
// is none. The caller owns it.
func (g *Groups) Get(key string) *Group {
	g.sweep()
	if x := g.byKey[key]; x != nil {
		return g.copyGroup(x)
	}
	return nil
}

// copyGroup returns a complete copy of a group.
func (g *Groups) copyGroup(x *group) *Group {
	to := new(Group)
	g.readParts(x, to)
	g.readCells(x, to)
	return to
}

// ReadSum copies the group of a key into to, in the form of [Groups.Sums]. It
// returns false if there is no such group. It uses the memory of to again. to
// must be an empty group or one from ReadSum.
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

// Total returns the sum of all groups, with an empty key. The caller owns it.
func (g *Groups) Total() *Group {
	return g.copyGroup(g.total())
}

// TotalSum returns what Total returns, but without the counters and stages of
// slices.
func (g *Groups) TotalSum() *Group {
	to := new(Group)
	g.readSum(g.total(), to)
	return to
}

// total returns the sum of all groups.
func (g *Groups) total() *group {
	g.sweep()
	total := new(group)
	for x := range g.all() {
		total.merge(x)
	}
	return total
}

// Clone returns a copy of a group from [Groups.Sums] that shares no memory with
// it.
func (x *Group) Clone() *Group {
	c := *x
	c.Errors, c.Counters, c.Stages, c.Slices = slices.Clone(x.Errors), slices.Clone(x.Counters), slices.Clone(x.Stages), slices.Clone(x.Slices)
	for i := range c.Stages {
		c.Stages[i].Durations = exphist.Snapshot{}
		if err := c.Stages[i].Durations.Merge(&x.Stages[i].Durations); err != nil {
			panic(err) // any snapshot can be merged into an empty one
		}
	}
	return &c
}

// readParts copies a group without the sums over its slices. Like the functions
// below, it uses the memory of to again.
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
		for i := range x.cells {
			sum.merge(&x.cells[i])
		}
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

// readCell sorts and copies a cell.
func (g *Groups) readCell(c *cell, outcomes *[outcomes]uint64, counters *[]Counter, stages *[]Stage) {
	c.stages.sort()
	c.counters.sort()
	*outcomes, *counters, *stages = c.outcomes, (*counters)[:0], (*stages)[:0]
	for _, t := range c.counters {
		*counters = append(*counters, Counter{t.metric.Name, t.sums})
	}
	for i := range c.stages {
		s := &c.stages[i].sums
		var to *Stage
		*stages, to = extended(*stages)
		s.durations.read(&g.content)
		if err := to.Durations.Restore(&g.content); err != nil {
			panic(err) // the content of durations is valid
		}
		to.Name, to.Unfinished, to.Self = c.stages[i].metric.Name, s.unfinished, to.Took().minus(s.covered)
	}
}

// extended returns s with another element, and a pointer to it. The element
// still has its old content if s was longer before, so its memory can be used
// again.
func extended[T any](s []T) ([]T, *T) {
	s = slices.Grow(s, 1)[:len(s)+1]
	return s, &s[len(s)-1]
}
