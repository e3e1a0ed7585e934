// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// Report returns the report of the data. The report makes groups from x when
// they are requested, so nothing may be merged into x before that.
func (x *Data) Report() *Report {
	whole := cmp.Or(x.whole, x.groups)
	r := &Report{
		Inputs:      x.inputs,
		By:          x.by,
		Width:       whole.Width(),
		Overflow:    x.groups.Overflow(),
		Interrupted: x.interrupted,
		common:      x.common,
		who:         [attributes]*groupby.Groups{ofPath: cmp.Or(x.paths, x.groups), ofRevision: x.revisions, ofKey: x.groups},
	}
	var s *scan
	var scanning sync.WaitGroup
	scanning.Go(func() {
		r.servers = *newServers(x.servers)
		s = newScan(x.sample, &r.servers)
		s.keysJudge = !strings.HasPrefix(r.By, "result:")
	})
	r.Inputs.Problems = slices.Clone(x.inputs.Problems)
	r.Total = *whole.Get("", false, nil)
	r.From, r.To = r.Total.First, r.Total.Last
	r.Inputs.Repeats = x.ids.Describe(int64(r.Total.Decisions))
	r.Inputs.Decisions -= r.Inputs.Repeats.LeftOut
	r.slices = func() []groupby.Slice { return whole.Get("", true, nil).Slices }
	of := ofKey // which no decision has unless it is a label or a field
	if x.by == "path" {
		of = ofPath
	}
	r.Groups = groupsByTime(x.groups, sync.OnceValue(func() map[string]uint64 { return x.sample.medianSizes(of) }))
	r.Revisions = revisionsOf(x.revisions)
	r.Slowest = slices.Clone(x.slowest.Kept)
	scanning.Wait()
	if !r.Inputs.wrapped() {
		r.byTime = s.findByTime(r)
	}
	r.Findings = find(r)
	return r
}

// groupsByTime returns groups by total time, descending, and by key. It makes
// each group when it is requested.
func groupsByTime(groups *groupby.Groups, medianSizes func() map[string]uint64) Groups {
	type place struct {
		key  string
		time groupby.Sum
	}
	var places []place
	for g := range groups.All(false) {
		places = append(places, place{g.Key, g.Time})
	}
	slices.SortFunc(places, func(a, b place) int { return byTimeAndKey(a.time, b.time, a.key, b.key) })
	return Groups{groups.Width(), len(places), func(i int, parts bool, to *Group) *Group {
		g := groups.Get(places[i].key, parts, to)
		g.Sizes.Median = medianSizes()[g.Key]
		return g
	}}
}

// revisionsOf returns the bundle revisions, sorted by the first time and the
// name.
func revisionsOf(groups *groupby.Groups) []Revision {
	var revisions []Revision
	for g := range groups.All(false) {
		if g.Key != rollup.Other {
			revisions = append(revisions, Revision{g.Key, g.First, g.Last, *Stage(groups.Get(g.Key, false, nil).Stages, evaluationStage)})
		}
	}
	slices.SortStableFunc(revisions, func(a, b Revision) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Name, b.Name))
	})
	return revisions
}
