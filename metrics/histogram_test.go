// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"maps"
	"math"
	"testing"

	"github.com/regometer/regometer/metrics"
)

// TestHistogramValue checks summaries by hand. Their percentiles are at a
// value, between two values, and beyond the ends.
func TestHistogramValue(t *testing.T) {
	summary := func(count, least, most int64, mean, stdDev, median, p75, p90, p95 float64) map[string]any {
		return map[string]any{
			"count": count, "min": least, "max": most, "mean": mean, "stddev": stdDev, "median": median,
			"75%": p75, "90%": p90, "95%": p95, "99%": float64(most), "99.9%": float64(most), "99.99%": float64(most),
		}
	}
	for _, tc := range []struct {
		values []int64
		want   map[string]any
	}{
		{nil, summary(0, 0, 0, 0, 0, 0, 0, 0, 0)},
		{[]int64{7}, summary(1, 7, 7, 7, 0, 7, 7, 7, 7)},
		{[]int64{4, 1, 3, 2}, summary(4, 1, 4, 2.5, math.Sqrt(1.25), 2.5, 3.75, 4, 4)},
		{[]int64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, summary(10, 1, 10, 5.5, math.Sqrt(8.25), 5.5, 8.25, 9.9, 10)},
	} {
		h := metrics.New().Histogram("h")
		for _, v := range tc.values {
			h.Update(v)
		}
		for what, got := range map[string]any{"Value": h.Value(), "Statistics": metrics.Statistics(tc.values...)} {
			if !maps.Equal(got.(map[string]any), tc.want) {
				t.Errorf("%s of %v is %v, want %v", what, tc.values, got, tc.want)
			}
		}
	}
}
