// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"github.com/open-policy-agent/opa/v1/metrics"
	"testing"
)

// What an instrumented query does: it times each operation, and each time is
// added to a histogram.
func BenchmarkMetricsInstrumented(b *testing.B) {
	names := []string{"eval_op_plug", "eval_op_resolve", "eval_op_rule_index", "eval_op_builtin_call"}
	for b.Loop() {
		m := metrics.New()
		for range 10 {
			for _, name := range names {
				m.Timer(name).Start()
				m.Histogram(name).Update(m.Timer(name).Stop())
			}
		}
	}
}
