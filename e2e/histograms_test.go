// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
