// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"cmp"
	"slices"
	"strings"
)

// stage is the distribution of one timer over the decisions that have it.
type stage struct {
	Name       string `json:"name"`  // the timer's name, such as rego_query_eval
	Depth      int    `json:"depth"` // how many stages of the table it lies within
	Count      int    `json:"count"` // decisions that finished it
	Unfinished int    `json:"unfinished"`
	P50        int64  `json:"p50_ns"`
	P95        int64  `json:"p95_ns"`
	P99        int64  `json:"p99_ns"`
	Max        int64  `json:"max_ns"`

	// Scraped is the same by /metrics; nil if it was not asked.
	Scraped *scraped `json:"scraped,omitempty"`
}

// nesting lists OPA's stages, each after the one that it lies within. A name
// that ends in * stands for all that begin so.
var nesting = []struct {
	name  string
	depth int
}{
	{"sdk_decision_eval", 0},
	{"server_handler", 0},
	{"rego_input_parse", 1},
	{"rego_query_parse", 1},
	{"rego_load_files", 1},
	{"rego_load_bundles", 1},
	{"rego_module_parse", 1},
	{"rego_module_compile", 1},
	{"rego_query_compile", 1},
	{"compile_stage_*", 2},
	{"query_compile_stage_*", 2},
	{"rego_partial_eval", 1},
	{"partial_op_*", 2},
	{"rego_query_eval", 1},
	{"rego_builtin_http_send", 2},
	{"rego_external_resolve", 2},
	{"eval_op_*", 2},
}

// place returns where the stage stands in nesting. One that is not there
// comes after all others, by itself.
func place(name string) (position, depth int) {
	for i, n := range nesting {
		prefix, wild := strings.CutSuffix(n.name, "*")
		if name == n.name || wild && strings.HasPrefix(name, prefix) {
			return i, n.depth
		}
	}
	return len(nesting), 0
}

// ofInstrumentation reports whether only instrumented requests have the stage:
// those of the table that stand for many.
func ofInstrumentation(name string) bool {
	position, _ := place(name)
	return position < len(nesting) && strings.HasSuffix(nesting[position].name, "*")
}

// stages collects the timers of decisions by name.
type stages map[string]*samples

type samples struct {
	values     []int64 // nanoseconds
	unfinished int
}

// add takes up one decision's timers. A timer of 0 was logged before it was
// stopped: it is no sample.
func (s stages) add(timers map[string]int64) {
	for name, ns := range timers {
		if s[name] == nil {
			s[name] = &samples{}
		}
		if ns == 0 {
			s[name].unfinished++
		} else {
			s[name].values = append(s[name].values, ns)
		}
	}
}

// table returns the stages in the order of nesting, those of one place by
// name.
func (s stages) table() []stage {
	table := make([]stage, 0, len(s))
	for name, samples := range s {
		slices.Sort(samples.values)
		_, depth := place(name)
		table = append(table, stage{
			Name: name, Depth: depth,
			Count: len(samples.values), Unfinished: samples.unfinished,
			P50: nearestRank(samples.values, 50),
			P95: nearestRank(samples.values, 95),
			P99: nearestRank(samples.values, 99),
			Max: nearestRank(samples.values, 100),
		})
	}
	slices.SortFunc(table, func(a, b stage) int {
		i, _ := place(a.Name)
		j, _ := place(b.Name)
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(a.Name, b.Name))
	})
	return table
}

// nearestRank returns the percentile of sorted values: the one at rank
// ⌈percent/100·n⌉, counted from 1. Of no values it is 0.
func nearestRank(sorted []int64, percent int) int64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := (percent*len(sorted) + 99) / 100
	return sorted[max(rank, 1)-1]
}
