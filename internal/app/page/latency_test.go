// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/groupby"
)

// TestCurve: a curve has a point for each slice with timings of the stage, and
// is cut where a slice has none.
func TestCurve(t *testing.T) {
	minute := int64(60e9)
	with := func(begin int64, ns ...int64) groupby.Slice {
		return groupby.Slice{Begin: begin, Stages: []groupby.Stage{stage("other", 7), stage("server_handler", ns...)}}
	}
	c := curveOf([]groupby.Slice{
		with(decisionlog.NoTime, 1), with(0, 1e6, 2e6, 3e6), with(minute, 5e6), with(2 * minute), with(3*minute, 4e6),
		with(9*minute, 1e3), with(10*minute, 2e3),
	}, "server_handler", minute)
	want := [][]float64{{30, 90}, {210}, {570, 630}}
	runs := c.runs()
	if len(runs) != len(want) {
		t.Fatalf("%d runs, want %d: %+v", len(runs), len(want), runs)
	}
	for i, run := range runs {
		if len(run) != len(want[i]) {
			t.Fatalf("run %d: %+v, want %v", i, run, want[i])
		}
		for j, p := range run {
			if p.at != want[i][j] {
				t.Errorf("run %d: %+v, want %v", i, run, want[i])
			}
		}
	}
	h := timings(1e6, 2e6, 3e6)
	if got := c.points[0]; got.p50 != h.Quantile(0.5) || got.p99 != h.Quantile(0.99) || got.begin != 0 {
		t.Errorf("the first point is %+v", got)
	}
	low, high := c.span()
	if worst := c.worst(); worst.begin != minute || worst.p99 != high || low != 1e3 {
		t.Errorf("from %v to %v, the worst is %+v", low, high, worst)
	}
}
