// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"fmt"
	"testing"

	"github.com/regometer/regometer/internal/race"
	"github.com/regometer/regometer/metrics"
	"github.com/regometer/regometer/rollup"
)

// TestAllocations: once paths, stages and the range of values are known,
// nothing allocates.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	collection := metrics.New()
	var numbers []rollup.Number
	for i, stage := range []string{
		"server_handler", "rego_input_parse", "rego_query_compile", "rego_query_eval", "rego_builtin_http_send", "unfinished",
	} {
		collection.Timer(stage).Start()
		collection.Timer(stage).Stop()
		numbers = append(numbers, rollup.Number{Key: "timer_" + stage + "_ns", Value: int64(i) * 1000})
	}
	collection.Counter("server_query_cache_hit").Add(1000)
	collection.Counter("rego_builtin_http_send_network_requests").Incr()
	m := collection.All()
	numbers = append(numbers, rollup.Number{Key: "counter_server_query_cache_hit", Value: 1})

	for name, r := range map[string]*rollup.Rollup{
		"labelled": newRollup(t, rollup.Options{Limits: rollup.Limits{Stages: 9, Counters: 9}}),
		"no room":  newRollup(t, rollup.Options{Limits: rollup.Limits{Paths: 1}}),
	} {
		t.Run(name, func(t *testing.T) {
			r.Add(rollup.Decision{Path: "first"}, m)
			r.Add(rollup.Decision{Path: "first"}, map[string]any{"counter_x": 1})
			var s rollup.Snapshot
			for what, f := range map[string]func(){
				"Add":         func() { r.Add(rollup.Decision{Path: "second"}, m) },
				"AddMetrics":  func() { r.AddMetrics(rollup.Decision{Path: "second"}, collection) },
				"AddNumbers":  func() { r.AddNumbers(rollup.Decision{Path: "second"}, numbers) },
				"Snapshot":    func() { r.Snapshot(&s) },
				"unknown key": func() { r.AddNumbers(rollup.Decision{Path: "second"}, []rollup.Number{{"something", 1}}) },
			} {
				for range 1000 {
					f()
				}
				if n := testing.AllocsPerRun(100, f); n != 0 {
					t.Errorf("%s: %v allocations", what, n)
				}
			}
		})
	}

	t.Run("flood", func(t *testing.T) {
		r := newRollup(t, rollup.Options{Limits: rollup.Limits{Paths: 1}})
		r.Add(rollup.Decision{Path: "known"}, m)
		paths := make([]string, 200)
		for i := range paths {
			paths[i] = fmt.Sprint("invented/", i)
			r.Add(rollup.Decision{Path: paths[i]}, m)
		}
		i := 0
		if n := testing.AllocsPerRun(len(paths)-1, func() {
			r.Add(rollup.Decision{Path: paths[i]}, m)
			i++
		}); n != 0 {
			t.Errorf("a path without room: %v allocations", n)
		}
	})
}
