// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"fmt"
	"testing"

	"github.com/regometer/regometer/internal/race"
	"github.com/regometer/regometer/rollup"
)

// usualNumbers returns the numbers of a decision.
func usualNumbers() []rollup.Number {
	numbers := []rollup.Number{{"counter_server_query_cache_hit", 1}, {"something", 1}}
	for i, stage := range []string{"server_handler", "rego_input_parse", "rego_query_eval", "rego_builtin_http_send", "eval_op_x", "unknown"} {
		numbers = append(numbers, rollup.Number{Key: "timer_" + stage + "_ns", Value: int64(i) * 1000})
	}
	return numbers
}

// BenchmarkAdd: with -cpu 1,2 it shows what waiting for the mutex costs.
func BenchmarkAdd(b *testing.B) {
	r, err := rollup.New(rollup.Options{})
	if err != nil {
		b.Fatal(err)
	}
	d := rollup.Decision{Path: "first", Numbers: usualNumbers()}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.Add(d)
		}
	})
}

// TestAllocations checks that nothing allocates after the first decisions of
// the paths and stages, even for invented paths and names without room.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	numbers := usualNumbers()
	invented := make([]string, 300)
	for i := range invented {
		invented[i] = fmt.Sprint("invented/", i)
	}
	r := newRollup(t, rollup.Options{Paths: 2})
	var s rollup.Snapshot
	i := 0
	for name, f := range map[string]func(){
		"a known path":     func() { r.Add(rollup.Decision{Path: "second", Numbers: numbers}) },
		"an invented path": func() { r.Add(rollup.Decision{Path: invented[i%len(invented)], Numbers: numbers}); i++ },
		"a snapshot":       func() { r.Snapshot(&s) },
	} {
		r.Add(rollup.Decision{Path: "first", Numbers: numbers})
		r.Add(rollup.Decision{Path: "second", Numbers: numbers})
		for range 1000 {
			f()
		}
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}
