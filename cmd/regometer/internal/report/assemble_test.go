// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// The sum of a group is the group whose slices have no stages, also if stages
// are left out. So is the total.
func TestSums(t *testing.T) {
	t.Parallel()
	const groups = 300
	x := newData(&Options{By: "path"})
	stages := [...]string{"timer_rego_query_eval_ns", "timer_server_handler_ns"}
	for i := range groups {
		for minute := range int64(2) {
			var measures []logread.Measure
			for j, s := range stages {
				measures = append(measures, logread.Measure{Metric: x.groups.Metric([]byte(s)), Value: int64(1 + i<<j)})
			}
			x.groups.Add(fmt.Append(nil, i), minute*int64(time.Minute), outcome.Outcome(i%6), "code", measures)
		}
	}
	r := x.Report()
	if n := r.Groups.Len(); n != groups {
		t.Fatalf("%d groups, want %d", n, groups)
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
	check := func(what string, stages int) {
		t.Helper()
		if got, want := r.Total.Slices, withoutStages(r.Slices(), stages); len(got) != 2 || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: the total has %+v, want %+v", what, got, want)
		}
		for i := range groups {
			sum, at := r.Groups.Sum(i), r.Groups.At(i)
			if at.Slices = withoutStages(at.Slices, stages); len(at.Slices) != 2 || len(sum.Stages) != stages {
				t.Fatalf("%s: group %d has %d slices and %d stages", what, i, len(at.Slices), len(sum.Stages))
			}
			if got, want := fmt.Sprintf("%+v", *sum), fmt.Sprintf("%+v", *at); got != want {
				t.Fatalf("%s: got\n%s\nwant\n%s", what, got, want)
			}
		}
		for i, sum := range r.Groups.Sums() {
			if got, want := fmt.Sprintf("%+v", *sum), fmt.Sprintf("%+v", *r.Groups.Sum(i)); got != want {
				t.Fatalf("%s, in a row: got\n%s\nwant\n%s", what, got, want)
			}
		}
	}
	check("all stages", len(stages))
}
