// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// quantiles are the tested quantiles.
var quantiles = []float64{0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1}

// maxRatio limits the ratio of a quantile of Prometheus and the exact one. Both
// are in the same bucket of schema 5, which is 2.2 % wide, and Prometheus may
// interpolate to any number in the bucket.
var maxRatio = math.Exp2(1.0/32) + 1e-9

// pathStages are the stages that have histograms by path.
var pathStages = []string{"server_handler", "rego_query_eval"}

// exported returns the durations that have histograms: of each stage over all
// paths, with the path "", and by path.
func (d *decisions) exported() map[stage][]int64 {
	all := map[stage][]int64{}
	for key, durations := range d.durations {
		over := stage{"", key.name}
		all[over] = append(all[over], durations...)
		if slices.Contains(pathStages, key.name) {
			all[key] = durations
		}
	}
	return all
}

// testNativeHistograms compares every bucket of the merged histograms of all
// servers, by stage and path, with the decision logs.
func testNativeHistograms(t *testing.T, f *fleet) {
	vector := f.native.vector(t, "sum by (stage) (opa_decision_stage_duration_seconds)", f.settled)
	vector = append(vector, f.native.vector(t, "sum by (stage, path) (opa_decision_path_duration_seconds)", f.settled)...)
	want := f.logged.exported()
	for _, s := range vector {
		key := stage{s.Metric.Get("path"), s.Metric.Get("stage")}
		if assert.NotNil(t, s.H, "%v is not a native histogram", key) {
			checkHistogram(t, key, s.H, want[key])
		}
		delete(want, key)
	}
	assert.Empty(t, want, "missing")
}

func checkHistogram(t *testing.T, key stage, h *histogram.FloatHistogram, durations []int64) {
	want, got := map[int32]float64{}, map[int32]float64{}
	for _, ns := range durations {
		want[bucketOf(ns, h.Schema)]++
	}
	for it := h.PositiveBucketIterator(); it.Next(); {
		if b := it.At(); b.Count > 0 {
			got[b.Index] = b.Count
		}
	}
	assert.Equal(t, want, got, "%v: counts by bucket", key)
	assert.EqualValues(t, len(durations), h.Count, "%v: count", key)
	assert.InEpsilon(t, seconds(durations), h.Sum, 1e-12, "%v: sum", key)
	assert.Zero(t, h.ZeroCount, "%v: zeros", key)
	assert.Empty(t, h.NegativeBuckets, "%v: negative buckets", key)
	assert.EqualValues(t, 5, h.Schema, "%v: schema", key)
}

// bucketOf returns the bucket i of a positive number of nanoseconds:
// 2^((i-1)/2^schema) < ns/10^9 ≤ 2^(i/2^schema).
func bucketOf(ns int64, schema int32) int32 {
	return int32(math.Ceil(math.Ldexp(math.Log2(float64(ns)/1e9), int(schema))))
}

// testQuantiles compares histogram_quantile over all servers with the exact
// quantiles of the union of their decision logs.
func testQuantiles(t *testing.T, f *fleet) {
	for by, family := range map[string]string{
		"stage": "opa_decision_stage_duration_seconds",
		"path":  `opa_decision_path_duration_seconds{stage="rego_query_eval"}`,
	} {
		worst := 1.0
		for _, q := range quantiles {
			query := fmt.Sprintf("histogram_quantile(%v, sum by (%s) (%s))", q, by, family)
			vector := f.native.vector(t, query, f.settled)
			assert.GreaterOrEqual(t, len(vector), 4, query)
			for _, s := range vector {
				name := s.Metric.Get(by)
				durations := f.logged.of(func(s stage) bool {
					return by == "stage" && s.name == name || s == stage{name, "rego_query_eval"}
				})
				require.NotEmpty(t, durations, name)
				ratio := quantileError(s.F*1e9, q, durations)
				assert.LessOrEqual(t, ratio, maxRatio, "%s of %s: %v ns", query, name, s.F*1e9)
				worst = max(worst, ratio)
			}
		}
		t.Logf("quantiles by %s: at most %.2f %% from the exact ones", by, 100*(worst-1))
	}
}

// quantileError returns the ratio of got and the exact quantile, the sample at
// nearest rank ⌈q·n⌉. Prometheus counts ranks from the upper end for q ≥ 0.5,
// and means the next sample if q·n is an integer.
func quantileError(got, q float64, sorted []int64) float64 {
	rank := q*float64(len(sorted)) - 1
	least := math.Inf(1)
	for _, rank := range []float64{math.Ceil(rank - 1e-6), math.Floor(rank+1e-6) + 1} {
		exact := float64(sorted[min(max(int(rank), 0), len(sorted)-1)])
		least = min(least, max(got/exact, exact/got))
	}
	return least
}

// testClassicHistograms: the classic buckets are exact too, and their bounds
// are round numbers.
func testClassicHistograms(t *testing.T, f *fleet) {
	vector := f.classic.vector(t, "sum by (stage, le) (opa_decision_stage_duration_seconds_bucket)", f.settled)
	vector = append(vector, f.classic.vector(t, "sum by (stage, path, le) (opa_decision_path_duration_seconds_bucket)", f.settled)...)
	durations := f.logged.exported()
	assert.Len(t, vector, 18*len(durations))
	assert.NotEmpty(t, f.classic.vector(t, `opa_decision_stage_duration_seconds_bucket{le="0.001"}`, f.settled))
	for _, s := range vector {
		bound, err := strconv.ParseFloat(s.Metric.Get("le"), 64)
		require.NoError(t, err)
		want := 0
		for _, ns := range durations[stage{s.Metric.Get("path"), s.Metric.Get("stage")}] {
			if float64(ns) <= math.Round(bound*1e9) {
				want++
			}
		}
		assert.EqualValues(t, want, s.F, "%v", s.Metric)
	}
}
