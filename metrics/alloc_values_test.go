// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package metrics_test

import (
	"testing"

	"github.com/regometer/regometer/metrics"
)

var sinkAny any

// TestAllocsOfValues checks the allocations of calls that return values in a
// map. Under the build tag purego they make more.
func TestAllocsOfValues(t *testing.T) {
	unknown := namesOf("unknown name ", 12)
	operations := []string{"eval_op_plug", "eval_op_resolve", "eval_op_rule_index", "eval_op_builtin_call", "eval_op_unify"}
	numbers := make([]int64, 1000)
	for i := range numbers {
		numbers[i] = int64(i*i) % 99_991
	}
	checkAllocs(t, []budget{
		{"a request, then All", 4, func() { sinkAny = record().All() }},
		{"9 timers and 3 counters of unknown names, then All", 7, func() {
			m := metrics.New()
			for _, name := range unknown[:9] {
				m.Timer(name).Start()
				m.Timer(name).Stop()
			}
			for _, name := range unknown[9:] {
				m.Counter(name).Incr()
			}
			sinkAny = m.All()
		}},
		{"a request with 5 instrumented operations, 40 times, then All", 37, func() {
			m := record()
			for range 40 {
				for _, name := range operations {
					m.Timer(name).Start()
					m.Histogram(name).Update(m.Timer(name).Stop())
				}
			}
			sinkAny = m.All()
		}},
		{"Statistics of 1,000 numbers", 5, func() { sinkAny = metrics.Statistics(numbers...) }},
	})
}
