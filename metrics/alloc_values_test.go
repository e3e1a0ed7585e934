// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package metrics_test

import (
	"fmt"
	"testing"

	"github.com/regometer/regometer/metrics"
)

var sinkAny any // keeps what is made from being optimised away

func TestAllocsOfAll(t *testing.T) {
	checkAllocs(t, "a request, then All", 4, func() { sinkAny = record().All() })

	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprint("unknown name ", i))
	}
	checkAllocs(t, "9 timers and 3 counters of unknown names, then All", 7, func() {
		m := metrics.New()
		for i, name := range names {
			if i < 9 {
				m.Timer(name).Start()
				m.Timer(name).Stop()
			} else {
				m.Counter(name).Incr()
			}
		}
		sinkAny = m.All()
	})

	operations := []string{"eval_op_plug", "eval_op_resolve", "eval_op_rule_index", "eval_op_builtin_call", "eval_op_unify"}
	checkAllocs(t, "a request with 5 instrumented operations, 40 times, then All", 37, func() {
		m := record()
		for range 40 {
			for _, name := range operations {
				m.Timer(name).Start()
				m.Histogram(name).Update(m.Timer(name).Stop())
			}
		}
		sinkAny = m.All()
	})
}

func TestAllocsOfStatistics(t *testing.T) {
	numbers := make([]int64, 1000)
	for i := range numbers {
		numbers[i] = int64(i*i) % 99_991
	}
	checkAllocs(t, "Statistics of 1,000 numbers", 5, func() { sinkAny = metrics.Statistics(numbers...) })
}
