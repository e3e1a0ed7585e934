// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"

	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

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
