// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

func TestMetricsRequestAllocs(t *testing.T) {
	if got := testing.AllocsPerRun(100, func() { recordRequest(metrics.New()) }); got > 1 {
		t.Errorf("Expected a request's metrics to need one allocation, got %v", got)
	}
}

// recordRequest records what the server does for a request to the data API.
func recordRequest(m metrics.Metrics) {
	m.Timer(metrics.ServerHandler).Start()
	m.Timer(metrics.RegoInputParse).Start()
	m.Timer(metrics.RegoInputParse).Stop()
	m.Counter(metrics.ServerQueryCacheHit).Incr()
	m.Timer(metrics.RegoExternalResolve).Start()
	m.Timer(metrics.RegoExternalResolve).Stop()
	m.Timer(metrics.RegoQueryEval).Start()
	m.Timer(metrics.RegoQueryEval).Stop()
	m.Timer(metrics.ServerHandler).Stop()
}

func BenchmarkMetricsRequest(b *testing.B) {
	b.Run("record", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			recordRequest(metrics.New())
		}
	})
	b.Run("record and All", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m := metrics.New()
			recordRequest(m)
			if len(m.All()) != 5 {
				b.Fatal("Expected five metrics")
			}
		}
	})
}
