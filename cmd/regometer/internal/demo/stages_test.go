// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
)

func TestNearestRank(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values  []int64
		percent int
		want    int64
	}{
		{nil, 50, 0},
		{[]int64{7}, 50, 7},
		{[]int64{7}, 99, 7},
		{[]int64{1, 2}, 50, 1},
		{[]int64{1, 2, 3}, 50, 2},
		{[]int64{15, 20, 35, 40, 50}, 30, 20},
		{[]int64{15, 20, 35, 40, 50}, 40, 20},
		{[]int64{15, 20, 35, 40, 50}, 50, 35},
		{[]int64{15, 20, 35, 40, 50}, 100, 50},
	} {
		if got := nearestRank(test.values, test.percent); got != test.want {
			t.Errorf("p%d of %v is %d, want %d", test.percent, test.values, got, test.want)
		}
	}
}

// The definition: the least value that at least percent % of all values do
// not exceed.
func TestNearestRankByDefinition(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 250; n++ {
		values := make([]int64, n)
		for i := range values {
			values[i] = rng.Int64N(100)
		}
		slices.Sort(values)
		for _, percent := range []int{50, 95, 99, 100} {
			want := int64(math.MaxInt64)
			for _, v := range values {
				notAbove := 0
				for _, w := range values {
					if w <= v {
						notAbove++
					}
				}
				if notAbove*100 >= percent*n {
					want = min(want, v)
				}
			}
			if got := nearestRank(values, percent); got != want {
				t.Fatalf("p%d of %d values is %d, want %d", percent, n, got, want)
			}
		}
	}
}

func TestStagesTable(t *testing.T) {
	t.Parallel()
	s := stages{}
	for i := range int64(100) {
		s.of("server_handler").add(1000 + i)
		s.of("rego_query_eval").add(100 - i)
	}
	for name, ns := range map[string]int64{
		"server_handler": 0, "rego_query_compile": 0, "query_compile_stage_check_types": 5,
		"rego_builtin_http_send": 70, "eval_op_plug": 9, "eval_op_builtin_call": 8, "zz_of_a_plugin": 3, "rego_input_parse": 4,
	} {
		s.of(name).add(ns)
	}
	want := []stage{
		{"server_handler", 0, 100, 1, 1049, 1094, 1098, 1099, nil},
		{"rego_input_parse", 1, 1, 0, 4, 4, 4, 4, nil},
		{"rego_query_compile", 1, 0, 1, 0, 0, 0, 0, nil},
		{"query_compile_stage_check_types", 2, 1, 0, 5, 5, 5, 5, nil},
		{"rego_query_eval", 1, 100, 0, 50, 95, 99, 100, nil},
		{"rego_builtin_http_send", 2, 1, 0, 70, 70, 70, 70, nil},
		{"eval_op_builtin_call", 2, 1, 0, 8, 8, 8, 8, nil},
		{"eval_op_plug", 2, 1, 0, 9, 9, 9, 9, nil},
		{"zz_of_a_plugin", 0, 1, 0, 3, 3, 3, 3, nil},
	}
	if got := s.table(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// What contains a stage is the innermost of the stages that are there: not each
// decision has all that are known.
func TestContainer(t *testing.T) {
	t.Parallel()
	s := stages{}
	for _, name := range []string{"server_handler", "rego_external_resolve", "wasm_vm_eval_call", "disk_read", "mine"} {
		s.of(name).add(5)
	}
	for name, want := range map[string]struct {
		around string
		depth  int
	}{
		"server_handler":        {"", 0},
		"mine":                  {"", 0},
		"rego_external_resolve": {"server_handler", 1},
		"disk_read":             {"server_handler", 1},
		"wasm_vm_eval_call":     {"rego_external_resolve", 2},
		"query_compile_stage_x": {"server_handler", 1},
	} {
		if around, depth := s.container(name); around != want.around || depth != want.depth {
			t.Errorf("%s is in %q, depth %d, want %+v", name, around, depth, want)
		}
	}
}

// testdata/metrics.txt is part of what OPA serves under /metrics.
func TestParseUsage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := parseUsage(text)
	want := usage{handlerSeconds: 0.0037 + 0.0011 + 0.0005, busySeconds: 4.5 - 4.25, bytes: 9.522864e+06, allocations: 125995}
	for _, f := range []struct{ got, want float64 }{
		{got.handlerSeconds, want.handlerSeconds}, {got.busySeconds, want.busySeconds},
		{got.bytes, want.bytes}, {got.allocations, want.allocations},
	} {
		if math.Abs(f.got-f.want) > 1e-12 {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	}
	if none := parseUsage(nil); !math.IsNaN(none.bytes) || !math.IsNaN(none.busySeconds) || !math.IsNaN(none.handlerSeconds) {
		t.Errorf("what is not exported must be NaN, not %+v", none)
	}
}

func TestUsageArithmetic(t *testing.T) {
	t.Parallel()
	got := usage{10, 20, 30, 40}.minus(usage{1, 2, 3, 4}).per(9)
	if want := (usage{1, 2, 3, 4}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
