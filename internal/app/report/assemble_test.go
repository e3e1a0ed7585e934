// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// Of groups that are kept in memory, and of those that are made when they are
// asked for, the sum is the group whose slices have no stages, also if stages
// are left out. So is the total.
func TestSums(t *testing.T) {
	t.Parallel()
	x, err := newData(&Options{By: "path"})
	if err != nil {
		t.Fatal(err)
	}
	stages := [...]string{"timer_rego_query_eval_ns", "timer_server_handler_ns"}
	for i := range keptStages {
		for minute := range int64(2) {
			var measures []decisionlog.Measure
			for j, s := range stages {
				measures = append(measures, decisionlog.Measure{Metric: x.groups.Metric([]byte(s)), Value: int64(1 + i<<j)})
			}
			x.groups.Add(fmt.Append(nil, i), minute*int64(time.Minute), rollup.Outcome(i%6), "code", measures)
		}
	}
	r := x.Report()
	if n := r.Groups.Len(); n != keptStages {
		t.Fatalf("%d groups, want %d", n, keptStages)
	}
	withoutStages := func(all []groupby.Slice, stages int) []groupby.Slice {
		all = slices.Clone(all)
		for i := range all {
			if len(all[i].Stages) != stages {
				t.Fatalf("slice %d has %d stages, want %d", i, len(all[i].Stages), stages)
			}
			all[i].Stages = nil
		}
		return all
	}
	check := func(what string, stages int) (kept int) {
		t.Helper()
		if got, want := r.Total.Slices, withoutStages(r.Slices(), stages); len(got) != 2 || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: the total has %+v, want %+v", what, got, want)
		}
		for i := range keptStages {
			sum, at := r.Groups.Sum(i), r.Groups.At(i)
			if at.Slices = withoutStages(at.Slices, stages); len(at.Slices) != 2 || len(sum.Stages) != stages {
				t.Fatalf("%s: group %d has %d slices and %d stages", what, i, len(at.Slices), len(sum.Stages))
			}
			if got, want := fmt.Sprintf("%+v", *sum), fmt.Sprintf("%+v", *at); got != want {
				t.Fatalf("%s: got\n%s\nwant\n%s", what, got, want)
			}
			if sum == r.Groups.Sum(i) {
				kept++
			}
		}
		for i, sum := range r.Groups.Sums() {
			if got, want := fmt.Sprintf("%+v", *sum), fmt.Sprintf("%+v", *r.Groups.Sum(i)); got != want {
				t.Fatalf("%s, in a row: got\n%s\nwant\n%s", what, got, want)
			}
		}
		return kept
	}
	if kept := check("all stages", len(stages)); kept != keptStages/len(stages) {
		t.Errorf("%d groups are kept, want %d", kept, keptStages/len(stages))
	}
	r.Only([]string{evaluationStage})
	check("one stage", 1)
}

// Each revision has the durations of its own evaluations.
func TestRevisions(t *testing.T) {
	t.Parallel()
	x, err := newData(&Options{By: "path"})
	if err != nil {
		t.Fatal(err)
	}
	evaluation := x.revisions.Metric([]byte(evaluationKey))
	names := []string{"c", "a", "b"}
	for i, name := range names {
		for k := range 5 + i*50 {
			measures := []decisionlog.Measure{{Metric: evaluation, Value: 1000 << (k % 5)}}
			x.revisions.Add([]byte(name), int64(i)*int64(time.Hour), rollup.Allowed, "", measures)
		}
	}
	revisions := x.Report().Revisions
	if len(revisions) != len(names) {
		t.Fatalf("%d revisions, want %q", len(revisions), names)
	}
	for i, r := range revisions {
		var counts []uint64
		for b := range r.Evaluation.Durations.All() {
			counts = append(counts, b.Count)
		}
		if n := uint64(1 + i*10); r.Name != names[i] || !slices.Equal(counts, []uint64{n, n, n, n, n}) {
			t.Errorf("revision %s has %d evaluations by time, want %s with 5 times %d", r.Name, counts, names[i], n)
		}
	}
}
