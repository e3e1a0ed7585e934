// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"fmt"

	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

func Example() {
	r, err := rollup.New(rollup.Options{Paths: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range int64(100) {
		ended := outcome.Allowed
		if i%10 == 0 {
			ended = outcome.Denied
		}
		r.Add(rollup.Decision{Path: "http/authz/allow", Outcome: ended, Numbers: []rollup.Number{
			{Key: "timer_server_handler_ns", Value: 300_000 + i*1000},
			{Key: "timer_rego_query_eval_ns", Value: 200_000 + i*1000},
			{Key: "timer_rego_builtin_http_send_ns", Value: 150_000 + i*1000},
			{Key: "counter_server_query_cache_hit", Value: 1},
		}})
	}

	var s rollup.Snapshot
	r.Snapshot(&s)
	for _, p := range s.Paths {
		for o, n := range p.Outcomes() {
			if n > 0 {
				fmt.Printf("%s: %d %v\n", p.Label, n, o)
			}
		}
		printStages(p.Stages)
	}
	fmt.Println("over all paths:")
	printStages(s.Stages)
	for _, c := range s.Counters {
		fmt.Printf("%s: %d\n", c.Name, c.Total)
	}
	// Output:
	// http/authz/allow: 90 allowed
	// http/authz/allow: 10 denied
	// server_handler         p50 about 349 µs, 10.0 ms by itself
	// rego_query_eval        p50 about 247 µs, 24.9 ms by itself
	// over all paths:
	// server_handler         p50 about 349 µs, 10.0 ms by itself
	// rego_query_eval        p50 about 247 µs, 5.0 ms by itself
	// rego_builtin_http_send p50 about 199 µs, 19.9 ms by itself
	// server_query_cache_hit: 100
}

func printStages(stages []rollup.StageTotal) {
	for i := range stages {
		st := &stages[i]
		fmt.Printf("%-22s p50 about %.0f µs, %.1f ms by itself\n", st.Stage, st.Histogram.Quantile(0.5)/1000, float64(st.Self)/1e6)
	}
}

// Several readers fold into rollups of their own, which are merged at the end.
func ExampleRollup_Merge() {
	var readers [2]*rollup.Rollup
	for i := range readers {
		r, err := rollup.New(rollup.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		r.Add(rollup.Decision{Path: "http/authz/allow", Numbers: []rollup.Number{{Key: "timer_server_handler_ns", Value: 300_000}}})
		readers[i] = r
	}
	var s rollup.Snapshot
	readers[1].Snapshot(&s)
	if err := readers[0].Merge(&s); err != nil {
		fmt.Println(err)
		return
	}
	readers[0].Snapshot(&s)
	fmt.Println(s.Paths[0].Label, s.Paths[0].Stages[0].Histogram.Count())
	// Output: http/authz/allow 2
}
