// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"

	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// TestSlowest: groups with few decisions are among the slowest only if no other
// is there.
func TestSlowest(t *testing.T) {
	of := func(key string, decisions uint64, ns int64) report.Group {
		s := groupby.Slice{Begin: start, Stages: []groupby.Stage{stage("server_handler", ns)}}
		s.Outcomes[rollup.Allowed] = decisions
		return group(key, s)
	}
	keys := func(groups ...report.Group) (all string) {
		for _, g := range slowest(report.GroupsOf(groups...)) {
			all += g.Key
		}
		return all
	}
	if got := keys(of("a", 100, 1e6), of("b", 99, 1e9), of("c", 500, 2e6), group("d")); got != "ca" {
		t.Errorf("%q, want ca", got)
	}
	if got := keys(of("a", 1, 1e6), of("b", 99, 1e9)); got != "ba" {
		t.Errorf("%q, want ba", got)
	}
	many := make([]report.Group, 50)
	for i := range many {
		many[i] = of("x", 1, int64(i+1))
	}
	if got := keys(many...); len(got) != maxSlowGroups {
		t.Errorf("%d of them", len(got))
	}
}
