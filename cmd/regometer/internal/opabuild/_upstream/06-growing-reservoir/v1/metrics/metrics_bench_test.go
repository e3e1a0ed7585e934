// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import "strconv"

// BenchmarkMetricsHistogram fills new histograms, as an instrumented query does.
func BenchmarkMetricsHistogram(b *testing.B) {
	for _, n := range []int{1, 16, 100, 1028} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h := metrics.New().Histogram("foo")
				for i := range n {
					h.Update(int64(i))
				}
			}
		})
	}
}
