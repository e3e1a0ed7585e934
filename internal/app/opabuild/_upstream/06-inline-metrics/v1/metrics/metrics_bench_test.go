// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"github.com/open-policy-agent/opa/v1/metrics"
	"testing"
)

// What a request to the server records, and what is done with it.
func BenchmarkMetricsRequest(b *testing.B) {
	names := []string{metrics.ServerHandler, metrics.RegoInputParse, metrics.RegoQueryParse, metrics.RegoQueryEval}
	for _, bc := range []struct {
		note string
		read func(metrics.Metrics)
	}{
		{"record", func(metrics.Metrics) {}},
		{"All", func(m metrics.Metrics) { m.All() }},
		{"MarshalJSON", func(m metrics.Metrics) {
			if _, err := m.MarshalJSON(); err != nil {
				b.Fatal(err)
			}
		}},
	} {
		b.Run(bc.note, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m := metrics.New()
				for _, name := range names {
					m.Timer(name).Start()
					m.Timer(name).Stop()
				}
				m.Counter(metrics.ServerQueryCacheHit).Incr()
				bc.read(m)
			}
		})
	}
}
