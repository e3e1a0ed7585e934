// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"github.com/open-policy-agent/opa/v1/metrics"
	"testing"
)

func BenchmarkHistogramUpdate(b *testing.B) {
	h := metrics.New().Histogram("foo")
	for i := range int64(100_000) {
		h.Update(i)
	}

	i := int64(0)
	for b.Loop() {
		h.Update(i)
		i++
	}
}
