// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"github.com/regometer/regometer/internal/groupby"
)

// Only removes all stages except these from the groups and from the slowest
// decisions. Totals, the order of the groups, and the findings stay. It reports
// whether the report has one of these stages, or has no stages at all.
func (r *Report) Only(stages []string) bool {
	total := len(r.Total.Stages)
	r.Total = *r.Total.only(stages)
	if all := r.slices; all != nil {
		r.slices = func() []groupby.Slice { return onlySlices(all(), stages) }
	}
	groups := r.Groups
	if r.By == byStage {
		var kept []Group
		for i := range groups.Len() {
			if g := groups.Sum(i); slices.Contains(stages, g.Key) {
				kept = append(kept, *g)
			}
		}
		r.Groups = GroupsOf(kept...)
	} else {
		r.Groups.get = func(i int, memory *Group) *Group { return groups.get(i, memory).only(stages) }
	}
	for i := range r.Slowest {
		s := &r.Slowest[i]
		s.Stages = slices.DeleteFunc(slices.Clone(s.Stages), func(t StageTime) bool { return !slices.Contains(stages, t.Stage) })
	}
	return total == 0 || len(r.Total.Stages) > 0
}

// only returns the group with these stages.
func (g *Group) only(stages []string) *Group {
	left := *g
	left.Stages, left.Slices = onlyStages(g.Stages, stages), onlySlices(g.Slices, stages)
	return &left
}

func onlySlices(all []groupby.Slice, stages []string) []groupby.Slice {
	kept := slices.Clone(all)
	for i := range kept {
		kept[i].Stages = onlyStages(kept[i].Stages, stages)
	}
	return kept
}

func onlyStages(all []groupby.Stage, stages []string) []groupby.Stage {
	return slices.DeleteFunc(slices.Clone(all), func(s groupby.Stage) bool { return !slices.Contains(stages, s.Name) })
}
