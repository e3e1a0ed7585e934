// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"github.com/open-policy-agent/opa/v1/metrics"
	"math/rand/v2"
	"testing"
)

func BenchmarkStatistics(b *testing.B) {
	numbers := make([]int64, 1000)
	for i := range numbers {
		numbers[i] = rand.Int64N(1000000)
	}
	b.ReportAllocs()
	for b.Loop() {
		if metrics.Statistics(numbers...) == nil {
			b.Fatal("No statistics")
		}
	}
}
