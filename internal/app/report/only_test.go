// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"testing"
)

// What is left is these stages, in all that is written, and nothing else
// changes.
func TestOnly(t *testing.T) {
	names := func(g *Group) (names []string) {
		for _, s := range g.Stages {
			names = append(names, s.Name)
		}
		for _, slice := range g.Slices {
			for _, s := range slice.Stages {
				names = append(names, s.Name)
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	r, whole := sample(), sample()
	if !r.Only([]string{evaluationStage, "no_such_stage"}) {
		t.Error("the evaluation is said to be missing")
	}
	if got := names(&r.Total); !slices.Equal(got, []string{evaluationStage}) {
		t.Errorf("the total has %v", got)
	}
	if r.Groups.Len() != whole.Groups.Len() || r.Total.Time != whole.Total.Time {
		t.Errorf("%d groups, of %v; want %d, of %v", r.Groups.Len(), r.Total.Time, whole.Groups.Len(), whole.Total.Time)
	}
	for i := range r.Groups.Len() {
		for _, name := range names(r.Groups.At(i)) {
			if name != evaluationStage {
				t.Errorf("%s has %s", r.Groups.At(i).Key, name)
			}
		}
		if r.Groups.At(i).Time != whole.Groups.At(i).Time {
			t.Errorf("%s took another time", r.Groups.At(i).Key)
		}
	}
	for _, d := range r.Slowest {
		if len(d.Stages) > 1 || len(d.Stages) == 1 && d.Stages[0].Stage != evaluationStage {
			t.Errorf("a slow decision has %v", d.Stages)
		}
	}
	if sample().Only([]string{"no_such_stage"}) {
		t.Error("a stage is there that is not")
	}
	if empty := new(Report); !empty.Only([]string{evaluationStage}) {
		t.Error("nothing lacks a stage")
	}
}

// What the report is made of does not change.
func TestOnlyOfRollup(t *testing.T) {
	t.Parallel()
	x := readLog(t, sampleText(t, 200), Options{Slowest: 5})
	want := outputs(t, x)
	x.Report().Only([]string{evaluationStage})
	requireSame(t, outputs(t, x), want)
}
