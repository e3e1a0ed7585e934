// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/samplelog"
	"github.com/regometer/regometer/internal/groupby"
)

// Only these stages are left, and nothing else changes.
func TestOnly(t *testing.T) {
	r, whole := sample(t), sample(t)
	if !r.Only([]string{evaluationStage, "no_such_stage"}) {
		t.Error("the evaluation is said to be missing")
	}
	left := func(stages []groupby.Stage) {
		t.Helper()
		for _, s := range stages {
			if s.Name != evaluationStage {
				t.Errorf("stage %s is left", s.Name)
			}
		}
	}
	left(r.Total.Stages)
	for i := range whole.Groups.Len() {
		g := r.Groups.At(i)
		left(g.Stages)
		for _, s := range g.Slices {
			left(s.Stages)
		}
		if g.Time != whole.Groups.At(i).Time || stage(g.Stages, evaluationStage).Unfinished != stage(whole.Groups.At(i).Stages, evaluationStage).Unfinished {
			t.Errorf("%s has changed", g.Key)
		}
	}
	for _, d := range r.Slowest {
		if len(d.Stages) > 1 || len(d.Stages) == 1 && d.Stages[0].Stage != evaluationStage {
			t.Errorf("a slow decision has %v", d.Stages)
		}
	}
	if len(r.Total.Stages) != 1 || r.Total.Time != whole.Total.Time || r.Groups.Len() != whole.Groups.Len() {
		t.Error("the total has changed")
	}
	if sample(t).Only([]string{"no_such_stage"}) {
		t.Error("a stage is said to be there")
	}
	if empty := new(Report); !empty.Only([]string{evaluationStage}) {
		t.Error("nothing lacks a stage")
	}
}

// The data of the report do not change.
func TestOnlyOfRollup(t *testing.T) {
	t.Parallel()
	x := readLog(t, sampleText(t, samplelog.Options{Decisions: 200}), Options{Slowest: 5})
	want := outputs(t, x)
	x.Report().Only([]string{evaluationStage})
	requireSame(t, outputs(t, x), want)
}
