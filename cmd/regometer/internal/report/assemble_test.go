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
	withoutStages := func(all []groupby.Slice) []groupby.Slice {
		all = slices.Clone(all)
		for i := range all {
			if len(all[i].Stages) != len(stages) {
				t.Fatalf("slice %d has %d stages", i, len(all[i].Stages))
			}
			all[i].Stages = nil
		}
		return all
	}
	if got, want := r.Total.Slices, withoutStages(r.Slices()); len(got) != 2 || !reflect.DeepEqual(got, want) {
		t.Fatalf("the total has %+v, want %+v", got, want)
	}
	for i, next := range r.Groups.Sums() {
		sum, at := r.Groups.Sum(i), r.Groups.At(i)
		if at.Slices = withoutStages(at.Slices); len(at.Slices) != 2 || len(sum.Stages) != len(stages) {
			t.Fatalf("group %d has %d slices and %d stages", i, len(at.Slices), len(sum.Stages))
		}
		want := fmt.Sprintf("%+v", *at)
		for _, got := range []*Group{sum, next} {
			if got := fmt.Sprintf("%+v", *got); got != want {
				t.Fatalf("got\n%s\nwant\n%s", got, want)
			}
		}
	}
}
