// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/rollup"
)

func TestDefaultStages(t *testing.T) {
	t.Parallel()
	table := stages.DefaultStages()
	names := map[string]bool{}
	for _, s := range table {
		if names[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		names[s.Name] = true
		if n := len(s.Help); n == 0 || n > 120 || strings.ContainsAny(s.Help, "\n;") || strings.HasSuffix(s.Help, ".") {
			t.Errorf("%s: the help is %q, want one line of 120 bytes or fewer, without a period", s.Name, s.Help)
		}
	}
	for _, s := range table {
		for _, p := range strings.Fields(s.Parent) {
			if !names[p] {
				t.Errorf("%s has parent %s, which is not in the table", s.Name, p)
			}
		}
	}
	table[0].Name = "changed"
	if stages.DefaultStages()[0].Name == "changed" {
		t.Error("the table is not the caller's own")
	}
	for name, list := range map[string]func() []string{
		"counters": stages.DefaultCounters, "codes": stages.ErrorCodes, "stages by path": stages.DefaultPathStages,
	} {
		if list()[0] = "changed"; list()[0] == "changed" {
			t.Errorf("the list of %s is not the caller's own", name)
		}
	}
}

// TestContainers has 32 stages that contain others, which is the limit.
func TestContainers(t *testing.T) {
	t.Parallel()
	containers := map[string]bool{}
	for _, s := range stages.DefaultStages() {
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
	r.Add(rollup.Decision{Numbers: []rollup.Number{{"timer_s31_ns", 5}, {"timer_s32_ns", 3}}})
	if self := selfTimes(snapshotOf(r).Stages)["s31"]; self != 2 {
		t.Errorf("the self time is %d, want 2", self)
	}
	if _, err := rollup.New(rollup.Options{Stages: append(more, rollup.Stage{Name: "s", Parent: parent})}); err == nil {
		t.Error("33 stages may contain others")
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
	r.Add(rollup.Decision{Path: "p", Numbers: []rollup.Number{
		{"timer_server_handler_ns", 100}, {"timer_rego_query_eval_ns", 50}, {"timer_outer_ns", 30}, {"timer_inner_ns", 20},
		{"timer_vendor_a_ns", 3}, {"timer_vendor_b_ns", 4}, {"timer_anywhere_ns", 1}, {"timer_disk_read_ns", 1}, {"counter_mine", 5}, {"counter_vendor_c", 6},
	}})
	s := snapshotOf(r)
	if got, want := selfTimes(s.Stages), (map[string]uint64{
		"server_handler": 100, "rego_query_eval": 19, "disk_read": 1, "outer": 2, "inner": 20, "anywhere": 1, rollup.Other: 7,
	}); !maps.Equal(got, want) {
		t.Errorf("the self times are %v, want %v", got, want)
	}
	var order []string
	for _, st := range s.Stages {
		order = append(order, st.Stage)
	}
	// A stage that replaces another one has its place.
	if want := []string{rollup.Other, "server_handler", "rego_query_eval", "disk_read", "inner", "outer", "anywhere"}; !slices.Equal(order, want) {
		t.Errorf("the stages are %q, want %q", order, want)
	}
	if want := []rollup.Total{{rollup.Other, 6}, {"mine", 5}}; !slices.Equal(s.Counters, want) {
		t.Errorf("the counters are %+v, want %+v", s.Counters, want)
	}
	if s.Overflow != (rollup.Overflow{}) {
		t.Errorf("the overflow is %+v, want none", s.Overflow)
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
		{"negative paths", rollup.Options{Paths: -1}, "Paths is -1"},
		{"path stage unknown", rollup.Options{PathStages: []string{"server_handler", "nothing"}}, `PathStages[1]: "nothing" is not in the table`},
		{"path stage twice", rollup.Options{PathStages: []string{"server_handler", "server_handler"}}, `PathStages[1]: stage "server_handler" is listed twice`},
		{"counter without name", rollup.Options{Counters: []string{"a", ""}}, `Counters[1]: ""`},
		{"name other", rollup.Options{Stages: []rollup.Stage{{Name: "other"}}}, `Stages[0]: "other"`},
		{"name with spaces", rollup.Options{Stages: []rollup.Stage{{Name: "a b"}}}, `Stages[0]: "a b"`},
		{"long name", rollup.Options{Stages: []rollup.Stage{{Name: strings.Repeat("x", 1025)}}}, "1024 bytes"},
		{"name not UTF-8", rollup.Options{Stages: []rollup.Stage{{Name: "a\xff"}}}, `Stages[0]: "a\xff"`},
		{"twice", rollup.Options{Stages: []rollup.Stage{{Name: "a"}, {Name: "b"}, {Name: "a"}}}, `Stages[2]: stage "a" is listed twice`},
		{"unknown parent", rollup.Options{Stages: []rollup.Stage{{Name: "a", Parent: "b"}}}, `stage "a" has parent "b"`},
		{"own parent", rollup.Options{Stages: []rollup.Stage{{Name: "a", Parent: "a"}}}, "a in a"},
		{
			"cycle",
			rollup.Options{Stages: []rollup.Stage{{Name: "server_handler", Parent: "rego_query_eval"}}},
			"server_handler in rego_query_eval in compile_eval_mask_rule in server_handler",
		},
		{"many containers", rollup.Options{Stages: many}, "stages contain others: at most 32 may"},
	} {
		r, err := rollup.New(test.options)
		if err == nil || r != nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "rollup: ") {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
		if _, err := test.options.Size(); err == nil {
			t.Errorf("%s: the options have a size", test.name)
		}
	}
}
