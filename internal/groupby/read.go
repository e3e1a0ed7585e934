// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/rollup"
)

// Group has the sums of the decisions of a key, over all time and for each
// slice of time.
type Group struct {
	Key string `json:"key"`
	// First and Last are the times of decisions, in ns since 1970, or
	// logread.NoTime.
	First     int64               `json:"from,omitzero"`
	Last      int64               `json:"to,omitzero"`
	Decisions uint64              `json:"-"`
	Outcomes  [6]uint64           `json:"-"`                // by Outcome
	Errors    []stages.ErrorTotal `json:"errors,omitempty"` // sorted by code; unknown codes are Other
	Counters  []Counter           `json:"-"`                // sorted by name; none is 0
	Stages    []Stage             `json:"-"`                // sorted by name
	Time      Sum                 `json:"-"`                // in ns: the self times of all stages
	Sizes     Sizes               `json:"sizes,omitzero"`
	Slices    []Slice             `json:"-"` // ascending, with logread.NoTime first; each has decisions
}

// Slice has the sums of a group in a slice of time. Begin is in ns since 1970,
// or logread.NoTime.
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
	Name       string           `json:"stage"`
	Durations  exphist.Snapshot `json:"durations"`           // in ns
	Unfinished uint64           `json:"unfinished,omitzero"` // timers of 0
	Self       Sum              `json:"self"`                // in ns, without the stages in it
}

// Took returns the sum of the durations, in ns.
func (s *Stage) Took() Sum {
	hi, lo := s.Durations.Sum()
	return Sum{hi, lo}
}

// All returns an iterator over the groups, sorted by the bytes of their keys.
// Group Other comes first if it has decisions. Slices have counters and stages if
// parts is true. A group is valid only until the next one, so clone it to keep
// it. Do not change g during the iteration.
func (g *Groups) All(parts bool) iter.Seq[*Group] {
	return func(yield func(*Group) bool) {
		g.names.sweep(g.byKey)
		var to Group
		for i, key := range slices.Insert(slices.Sorted(maps.Keys(g.byKey)), 0, rollup.Other) {
			x := g.byKey[key]
			if len(x.cells) == 0 || i > 0 && x == g.other {
				continue
			}
			g.read(x, &to, parts)
			if !yield(&to) {
				return
			}
		}
	}
}

// Get copies the group of a key into to, whose memory it uses again, or into a new
// group if to is nil. It returns the copy, or nil if there is no such group. The
// empty key stands for all groups together. Slices have counters and stages if
// parts is true.
func (g *Groups) Get(key string, parts bool, to *Group) *Group {
	g.names.sweep(g.byKey)
	x := g.byKey[key]
	if key == "" {
		x = &group{period: never}
		for _, o := range g.byKey {
			x.merge(o)
		}
	}
	if x == nil {
		return nil
	}
	if to == nil {
		to = new(Group)
	}
	g.read(x, to, parts)
	return to
}

// Has reports whether a key has a group of its own.
func (g *Groups) Has(key string) bool { return g.byKey[key] != nil }

// read copies a group, and uses the memory of to again.
func (g *Groups) read(x *group, to *Group, parts bool) {
	to.Key, to.First, to.Last, to.Sizes = x.key, x.first, x.last, x.sizes
	to.Errors = append(to.Errors[:0], x.errors...)
	slices.SortFunc(to.Errors, func(a, b stages.ErrorTotal) int { return strings.Compare(a.Code, b.Code) })
	to.Slices = to.Slices[:0]
	whole := new(cell)
	for i := range x.cells {
		c := &x.cells[i]
		var s *Slice
		to.Slices, s = extended(to.Slices)
		s.Begin, s.Outcomes = g.beginOf(c.index), c.outcomes
		if parts {
			g.readCell(c, &s.Counters, &s.Stages)
		}
		if len(x.cells) == 1 {
			whole = c
		} else {
			whole.merge(c)
		}
	}
	to.Decisions, to.Outcomes, to.Time = whole.decisions(), whole.outcomes, Sum{}
	g.readCell(whole, &to.Counters, &to.Stages)
	for i := range to.Stages {
		to.Time = to.Time.Plus(to.Stages[i].Self)
	}
}

// readCell sorts and copies a cell.
func (g *Groups) readCell(c *cell, counters *[]Counter, stages *[]Stage) {
	c.stages.sort()
	c.counters.sort()
	*counters, *stages = (*counters)[:0], (*stages)[:0]
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
