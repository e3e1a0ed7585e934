// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

func newRollup(t testing.TB, o rollup.Options) *rollup.Rollup {
	t.Helper()
	r, err := rollup.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func snapshotOf(r *rollup.Rollup) *rollup.Snapshot {
	var s rollup.Snapshot
	r.Snapshot(&s)
	return &s
}

// selfTimes returns the self times of stages.
func selfTimes(stages []rollup.StageTotal) map[string]uint64 {
	self := map[string]uint64{}
	for i := range stages {
		self[stages[i].Stage] = stages[i].Self
	}
	return self
}

func TestSelfTime(t *testing.T) {
	t.Parallel()
	var many []rollup.Number // more than are kept on the stack
	for i := range 50 {
		many = append(many, rollup.Number{Key: fmt.Sprint("counter_", i), Value: 1})
	}
	const parse, handler, eval, send = "timer_rego_input_parse_ns", "timer_server_handler_ns", "timer_rego_query_eval_ns", "timer_rego_builtin_http_send_ns"
	type self = map[string]uint64
	for _, test := range []struct {
		name    string
		kept    []string
		numbers []rollup.Number
		want    self // over all paths
		byPath  self
	}{
		{
			"nested", nil,
			[]rollup.Number{{handler, 100}, {parse, 10}, {eval, 60}, {send, 50}},
			self{"server_handler": 30, "rego_input_parse": 10, "rego_query_eval": 10, "rego_builtin_http_send": 50},
			self{"server_handler": 40, "rego_query_eval": 60},
		},
		{
			"many", []string{},
			slices.Concat([]rollup.Number{{send, 3}}, many, []rollup.Number{{eval, 10}}),
			self{"rego_query_eval": 7, "rego_builtin_http_send": 3}, self{},
		},
		{
			"Compile API", []string{},
			[]rollup.Number{
				{handler, 100}, {"timer_compile_eval_mask_rule_ns", 20}, {eval, 15}, {"timer_rego_partial_eval_ns", 30},
				{"timer_compile_prep_partial_ns", 12}, {"timer_compile_eval_constraints_ns", 11},
			},
			self{
				"server_handler": 38, "compile_eval_mask_rule": 5, "rego_query_eval": 15, "rego_partial_eval": 30,
				"compile_prep_partial": 1, "compile_eval_constraints": 11,
			},
			self{},
		},
		{
			"Wasm", []string{},
			[]rollup.Number{
				{eval, 100}, {"timer_rego_external_resolve_ns", 90}, {"timer_wasm_pool_acquire_ns", 10}, {"timer_wasm_vm_eval_ns", 70},
				{"timer_wasm_vm_eval_call_ns", 60}, {"timer_wasm_vm_eval_prepare_input_ns", 5},
			},
			self{
				"rego_query_eval": 10, "rego_external_resolve": 10, "wasm_pool_acquire": 10, "wasm_vm_eval": 5,
				"wasm_vm_eval_call": 60, "wasm_vm_eval_prepare_input": 5,
			},
			self{},
		},
		{
			"instrumentation", []string{},
			[]rollup.Number{
				{eval, 100}, {"timer_eval_op_plug_ns", 10}, {"timer_eval_op_resolve_ns", 20},
				{"timer_rego_query_compile_ns", 7}, {"timer_query_compile_stage_check_types_ns", 4},
			},
			self{"rego_query_eval": 70, "rego_query_compile": 3, rollup.Other: 34}, self{},
		},
		{
			"extreme", []string{},
			[]rollup.Number{{handler, math.MaxInt64}, {eval, math.MaxInt64}, {parse, math.MaxInt64}, {"timer_rego_query_parse_ns", math.MinInt64}},
			self{"server_handler": 0, "rego_query_eval": math.MaxInt64, "rego_input_parse": math.MaxInt64, "rego_query_parse": 0}, self{},
		},
	} {
		r := newRollup(t, rollup.Options{PathStages: test.kept})
		r.Add(rollup.Decision{Path: "p", Numbers: test.numbers})
		s := snapshotOf(r)
		if got := selfTimes(s.Stages); !maps.Equal(got, test.want) {
			t.Errorf("%s: the self times are %v, want %v", test.name, got, test.want)
		}
		if got := selfTimes(s.Paths[0].Stages); !maps.Equal(got, test.byPath) {
			t.Errorf("%s: by path the self times are %v, want %v", test.name, got, test.byPath)
		}
	}
}

// TestLabels adds decisions with unusual paths and names.
func TestLabels(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("p", 1024)
	r := newRollup(t, rollup.Options{Paths: 4, Stages: []rollup.Stage{{Name: longest}}, Counters: []string{longest}})
	for _, path := range []string{"a", "a", "other", "", "b\xff\xfec", "b\uFFFDc", "b\xffc", longest + "p", longest, "c", "d", "a"} {
		r.Add(rollup.Decision{Path: path, Numbers: []rollup.Number{{"timer_s\xff_ns", 1}, {"counter_" + longest + "p", 3}, {"timer_" + longest + "_ns", 2}, {"counter_" + longest, 2}}})
	}
	s := snapshotOf(r)
	if got, want := r.Labels(), []string{"a", "b\uFFFDc", longest, "c"}; !slices.Equal(got, want) {
		t.Errorf("the labels are %.40q, want %.40q", got, want)
	}
	for i, want := range []uint64{4, 3, 3, 1, 1} {
		if got := outcomesOf(&s.Paths[i])[outcome.Allowed]; got != want {
			t.Errorf("path %.9q has %d decisions, want %d", s.Paths[i].Label, got, want)
		}
	}
	if got, want := selfTimes(s.Stages), (map[string]uint64{rollup.Other: 12, longest: 24}); !maps.Equal(got, want) {
		t.Errorf("the self times are %.80v, want %.80v", got, want)
	}
	if want := []rollup.Total{{rollup.Other, 36}, {longest, 24}}; !slices.Equal(s.Counters, want) {
		t.Errorf("the counters are %.80v, want %.80v", s.Counters, want)
	}
	if want := (rollup.Overflow{Paths: 2, Stages: 12, Counters: 36}); s.Overflow != want {
		t.Errorf("the overflow is %+v, want %+v", s.Overflow, want)
	}
}

// TestMergeOverflow checks that a merge counts values without room, in addition
// to the overflow of the snapshot.
func TestMergeOverflow(t *testing.T) {
	t.Parallel()
	from := newRollup(t, rollup.Options{Paths: 2, Stages: []rollup.Stage{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Counters: []string{"c", "d"}})
	for _, path := range []string{"p", "q", "q", "r"} {
		from.Add(rollup.Decision{Path: path, Numbers: []rollup.Number{
			{"timer_a_ns", 5}, {"timer_b_ns", 0}, {"timer_c_ns", -1}, {"counter_c", 10}, {"counter_d", 7}, {"counter_d", -1},
		}})
	}
	for _, test := range []struct {
		options rollup.Options
		want    rollup.Overflow
	}{
		{rollup.Options{Paths: 1}, rollup.Overflow{Paths: 1 + 2, Stages: 12, Counters: 68, Invalid: 4}},
		{rollup.Options{Stages: []rollup.Stage{{Name: "a"}}}, rollup.Overflow{Paths: 1, Stages: 8, Counters: 68, Invalid: 4}},
		{rollup.Options{Counters: []string{"d"}}, rollup.Overflow{Paths: 1, Stages: 12, Counters: 40, Invalid: 4}},
	} {
		r := newRollup(t, test.options)
		if err := r.Merge(snapshotOf(from)); err != nil {
			t.Fatal(err)
		}
		if got := snapshotOf(r).Overflow; got != test.want {
			t.Errorf("%+v: the overflow is %+v, want %+v", test.options, got, test.want)
		}
	}
}

// TestMergeRefuses merges histograms with another layout, after others that
// fit. Nothing changes. Rebound gives a snapshot other bounds.
func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	numbers := []rollup.Number{{"timer_server_handler_ns", 100}, {"timer_rego_query_parse_ns", 60}}
	from, right := newRollup(t, rollup.Options{Bounds: []int64{10, 1000}}), newRollup(t, rollup.Options{Bounds: []int64{10, 2000}})
	from.Add(rollup.Decision{Path: "p", Numbers: numbers})
	right.Add(rollup.Decision{Path: "right", Numbers: numbers})
	s, before := snapshotOf(from), snapshotOf(right)
	h := exphist.New(exphist.Layout{Unit: exphist.Integer, Bounds: []int64{10, 2000}})
	h.Record(3)
	integers := rollup.StageTotal{Stage: "rego_query_eval"}
	h.Snapshot(&integers.Histogram)
	r := newRollup(t, rollup.Options{Bounds: []int64{10, 2000}})
	for want, s := range map[string]*rollup.Snapshot{
		`stage "server_handler" is in nanoseconds with the explicit bounds [10 1000]: it must be in nanoseconds with the bounds [10 2000]`: {Paths: slices.Concat(before.Paths, s.Paths)},
		`the explicit bounds [10 1000]`: {Stages: slices.Concat(before.Stages, s.Stages)},
		`stage "rego_query_eval" is in`: {Stages: []rollup.StageTotal{before.Stages[0], integers}},
	} {
		if err := r.Merge(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	requireSame(t, contentsOf(t, r), newContents())
	s.Rebound([]int64{10, 2000})
	if err := r.Merge(s); err != nil {
		t.Fatal(err)
	}
	requireSame(t, contentsOf(t, r), contentsOf(t, from))
	r.Add(rollup.Decision{Path: "p", Numbers: numbers})
	s = snapshotOf(r)
	for _, st := range append(s.Stages, s.Paths[0].Stages...) {
		if n := st.Histogram.CountAtMost(1); n != 1 || st.Histogram.Count() != 2 {
			t.Errorf("%s: %d of %d durations are counted by the new bounds, want 1 of 2", st.Stage, n, st.Histogram.Count())
		}
	}
}
