// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

func newGroup(g *groupby.Group) Group {
	group := Group{Group: *g}
	group.addUp()
	return group
}

// addUp sets the fields that follow from the groupby.Group.
func (g *Group) addUp() {
	g.Decisions, g.Time = 0, groupby.Sum{}
	for _, n := range g.Outcomes {
		g.Decisions += n
	}
	for i := range g.Stages {
		g.Time = g.Time.Plus(g.Stages[i].Self)
	}
}

// groupsOfStages returns a group for each stage of all decisions.
func groupsOfStages(total Group, exact map[string][]int64) Groups {
	groups := make([]Group, len(total.Stages))
	for i, s := range total.Stages {
		groups[i] = Group{
			Group:     groupby.Group{Key: s.Name, Stages: []groupby.Stage{s}},
			Decisions: s.Durations.Count() + s.Unfinished,
			Time:      s.Self,
			exact:     exact,
		}
	}
	slices.SortFunc(groups, func(a, b Group) int { return byTimeAndKey(a.Time, b.Time, a.Key, b.Key) })
	return GroupsOf(groups...)
}

func byTimeAndKey(a, b groupby.Sum, aKey, bKey string) int {
	return cmp.Or(cmp.Compare(b.Hi, a.Hi), cmp.Compare(b.Lo, a.Lo), cmp.Compare(aKey, bKey))
}

// keptStages limits the stages of the groups that are kept in memory besides
// their sources. A stage has at most 6 KB.
const keptStages = 1024

// groupsByTime returns groups by total time, descending, and by key.
func groupsByTime(groups *groupby.Groups, exact exactDurations) Groups {
	type place struct {
		key  string
		time groupby.Sum
		sum  *Group // nil if it is not kept
	}
	made := func(g *groupby.Group) *Group {
		group := newGroup(g)
		group.exact = exact[g.Key]
		return &group
	}
	var places []place
	stages := 0
	for g := range groups.Sums() {
		p := place{key: g.Key, time: newGroup(g).Time}
		if stages += len(g.Stages); stages <= keptStages {
			p.sum = made(g.Clone())
		}
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int { return byTimeAndKey(a.time, b.time, a.key, b.key) })
	return Groups{
		n:  len(places),
		at: func(i int) *Group { return made(groups.Get(places[i].key)) },
		sum: func(i int, memory *Group) *Group {
			if sum := places[i].sum; sum != nil {
				return sum
			}
			groups.ReadSum(places[i].key, &memory.Group)
			memory.addUp()
			memory.exact = exact[memory.Key]
			return memory
		},
	}
}

// revisionsOf returns the bundle revisions in the order of their first times.
func revisionsOf(groups *groupby.Groups) []Revision {
	var revisions []Revision
	for g := range groups.Sums() {
		if len(g.Stages) == 0 || g.Key == rollup.Other {
			continue
		}
		r := Revision{Name: g.Key, First: decisionlog.NoTime, Last: decisionlog.NoTime, Evaluation: g.Clone().Stages[0]}
		for _, slice := range g.Slices {
			if slice.Begin == decisionlog.NoTime {
				continue
			}
			if r.First == decisionlog.NoTime {
				r.First = slice.Begin
			}
			r.Last = slice.Begin
		}
		revisions = append(revisions, r)
	}
	slices.SortStableFunc(revisions, func(a, b Revision) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Name, b.Name))
	})
	return revisions
}
