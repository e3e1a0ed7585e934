// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/rollup"
)

func TestDefaultStages(t *testing.T) {
	t.Parallel()
	stages := rollup.DefaultStages()
	names := map[string]bool{}
	for _, s := range stages {
		if names[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		names[s.Name] = true
		if n := len(s.Help); n == 0 || n > 120 || strings.ContainsAny(s.Help, "\n;") || strings.HasSuffix(s.Help, ".") {
			t.Errorf("%s: help of %d bytes: %q", s.Name, n, s.Help)
		}
	}
	for _, s := range stages {
		for _, p := range strings.Fields(s.Parent) {
			if !names[p] {
				t.Errorf("%s has parent %s, which is not in the table", s.Name, p)
			}
		}
	}
	stages[0].Name = "changed"
	if rollup.DefaultStages()[0].Name == "changed" {
		t.Error("the table is not the caller's own")
	}
	for name, list := range map[string]func() []string{
		"counters": rollup.DefaultCounters, "codes": rollup.ErrorCodes, "stages by path": rollup.DefaultPathStages,
	} {
		if list()[0] = "changed"; list()[0] == "changed" {
			t.Errorf("the list of %s is not the caller's own", name)
		}
	}
}

// TestContainers: of stages that contain others, 32 are taken.
func TestContainers(t *testing.T) {
	t.Parallel()
	containers := map[string]bool{}
	for _, s := range rollup.DefaultStages() {
		for _, p := range strings.Fields(s.Parent) {
			containers[p] = true
		}
	}
	var more []rollup.Stage
	parent := ""
	for n := len(containers); n <= 32; n++ {
		s := rollup.Stage{Name: fmt.Sprint("s", n), Parent: parent}
		more, parent = append(more, s), s.Name
	}
	r := newRollup(t, rollup.Options{Stages: more})
	r.AddNumbers(rollup.Decision{}, []rollup.Number{{"timer_s31_ns", 5}, {"timer_s32_ns", 3}})
	if self := stageOf(t, snapshotOf(r).Stages, "s31").Self; self != 2 {
		t.Errorf("self time %d, want 2", self)
	}
	if _, err := rollup.New(rollup.Options{Stages: append(more, rollup.Stage{Name: "s", Parent: parent})}); err == nil {
		t.Error("33 containers")
	}
}

func TestOptionsStages(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{Stages: []rollup.Stage{
		{Name: "inner", Parent: "outer"},
		{Name: "outer", Parent: "rego_query_eval"},
		{Name: "rego_query_eval"}, // no longer in the handler
		{Name: "vendor_*", Parent: "outer"},
		{Name: "anywhere", Parent: "server_handler rego_query_eval outer"}, // in the innermost
	}, Counters: []string{"mine", "server_query_cache_hit"}})
	r.AddNumbers(rollup.Decision{Path: "p"}, []rollup.Number{
		{"timer_server_handler_ns", 100}, {"timer_rego_query_eval_ns", 50}, {"timer_outer_ns", 30}, {"timer_inner_ns", 20},
		{"timer_vendor_a_ns", 3}, {"timer_vendor_b_ns", 4}, {"timer_anywhere_ns", 1}, {"timer_disk_read_ns", 1}, {"counter_mine", 5}, {"counter_vendor_c", 6},
	})
	s := snapshotOf(r)
	for stage, want := range map[string]uint64{
		"server_handler": 100, "rego_query_eval": 19, "disk_read": 1, "outer": 2, "inner": 20, "anywhere": 1, rollup.Other: 7,
	} {
		if got := stageOf(t, s.Stages, stage).Self; got != want {
			t.Errorf("%s: self time %d, want %d", stage, got, want)
		}
	}
	var order []string
	for _, st := range s.Stages {
		order = append(order, st.Stage)
	}
	// One that replaces another has its place.
	if want := []string{rollup.Other, "server_handler", "rego_query_eval", "disk_read", "inner", "outer", "anywhere"}; !slices.Equal(order, want) {
		t.Errorf("stages %q, want %q", order, want)
	}
	if want := []rollup.CounterTotal{{rollup.Other, 6}, {"mine", 5}}; !slices.Equal(s.Counters, want) {
		t.Errorf("counters %+v, want %+v", s.Counters, want)
	}
	if s.Overflow != (rollup.Overflow{}) {
		t.Errorf("overflow %+v", s.Overflow)
	}
}

// TestLongestName: the one byte more is among those that TestNewRefuses has.
func TestLongestName(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("x", 1024)
	r := newRollup(t, rollup.Options{Stages: []rollup.Stage{{Name: longest}}, Counters: []string{longest}})
	r.AddNumbers(rollup.Decision{}, []rollup.Number{{"timer_" + longest + "_ns", 3}, {"counter_" + longest, 5}})
	s := snapshotOf(r)
	if self := stageOf(t, s.Stages, longest).Self; self != 3 || !slices.Equal(s.Counters, []rollup.CounterTotal{{longest, 5}}) {
		t.Errorf("self time %d, counters %+v", self, s.Counters)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	var many []rollup.Stage
	for i := range 100 {
		many = append(many, rollup.Stage{Name: strings.Repeat("x", i+1), Parent: strings.Repeat("x", i)})
	}
	for _, test := range []struct {
		name    string
		options rollup.Options
		want    string
	}{
		{"negative paths", rollup.Options{Limits: rollup.Limits{Paths: -1}}, "Limits.Paths is -1"},
		{"negative stages", rollup.Options{Limits: rollup.Limits{Stages: -1}}, "Limits.Stages is -1"},
		{"negative counters", rollup.Options{Limits: rollup.Limits{Counters: -1}}, "Limits.Counters is -1"},
		{"path stage unknown", rollup.Options{PathStages: []string{"server_handler", "nothing"}}, `PathStages[1]: "nothing" is not in the table`},
		{"path stage of a family", rollup.Options{PathStages: []string{"eval_op_*"}}, `PathStages[0]: "eval_op_*" is not in`},
		{"path stage twice", rollup.Options{PathStages: []string{"server_handler", "server_handler"}}, `PathStages[1]: stage "server_handler" is there twice`},
		{"counter without name", rollup.Options{Counters: []string{"a", ""}}, `Counters[1]: ""`},
		{"no name", rollup.Options{Stages: []rollup.Stage{{Parent: "server_handler"}}}, `Stages[0]: ""`},
		{"name other", rollup.Options{Stages: []rollup.Stage{{Name: "other"}}}, `Stages[0]: "other"`},
		{"name with spaces", rollup.Options{Stages: []rollup.Stage{{Name: "a b"}}}, `Stages[0]: "a b"`},
		{"long name", rollup.Options{Stages: []rollup.Stage{{Name: strings.Repeat("x", 1025)}}}, "1024 bytes"},
		{"name not UTF-8", rollup.Options{Stages: []rollup.Stage{{Name: "a\xff"}}}, `Stages[0]: "a\xff"`},
		{"twice", rollup.Options{Stages: []rollup.Stage{{Name: "a"}, {Name: "b"}, {Name: "a"}}}, `Stages[2]: stage "a" is there twice`},
		{"unknown parent", rollup.Options{Stages: []rollup.Stage{{Name: "a", Parent: "b"}}}, `stage "a" has parent "b"`},
		{"family as parent", rollup.Options{Stages: []rollup.Stage{{Name: "a", Parent: "eval_op_*"}}}, `stage "a" has parent "eval_op_*"`},
		{"own parent", rollup.Options{Stages: []rollup.Stage{{Name: "a", Parent: "a"}}}, "a in a"},
		{
			"cycle",
			rollup.Options{Stages: []rollup.Stage{{Name: "server_handler", Parent: "rego_query_eval"}}},
			"server_handler in rego_query_eval in compile_eval_mask_rule in server_handler",
		},
		{"many containers", rollup.Options{Stages: many}, "stages contain others: at most 32 may"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, err := rollup.New(test.options)
			if err == nil || r != nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "rollup: ") {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}
