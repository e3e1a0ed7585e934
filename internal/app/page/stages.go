// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"slices"

	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/rollup"
)

// helps is what each stage of OPA measures.
var helps = func() map[string]string {
	all := map[string]string{}
	for _, s := range rollup.DefaultStages() {
		all[s.Name] = s.Help
	}
	return all
}()

func helpOf(stage string) string { return helps[stage] }

// slowest returns the groups with the highest p99 of their outermost stage.
func slowest(groups report.Groups) []*report.Group {
	type candidate struct {
		at  int
		p99 float64
	}
	var all, large []candidate
	for i, g := range groups.Sums() {
		s := report.Outermost(g.Stages)
		if s == nil {
			continue
		}
		c := candidate{i, s.Durations.Quantile(0.99)}
		all = append(all, c)
		if g.Decisions >= enough {
			large = append(large, c)
		}
	}
	if len(large) > 0 {
		all = large
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.p99, a.p99) })
	all, _ = atMost(all, maxSlowGroups)
	found := make([]*report.Group, len(all))
	for i, c := range all {
		found[i] = groups.At(c.at)
	}
	return found
}
