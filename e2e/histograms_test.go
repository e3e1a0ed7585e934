// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// quantiles are those that are tested.
var quantiles = []float64{0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1}

// maxRatio limits the ratio of a quantile of Prometheus and the exact one, by
// nearest rank. Both are in the same bucket of schema 5, which is 2.2 % wide,
// and Prometheus may interpolate to anything within the bucket.
var maxRatio = math.Exp2(1.0 / 32)

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
		if assert.NotNil(t, s.H, "%v is no native histogram", key) {
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
// 2^((i-1)/2^schema) < ns/10^9 ≤ 2^(i/2^schema), decided by integers.
func bucketOf(ns int64, schema int32) int32 {
	power := int64(1) << schema
	i := int32(math.Ceil(math.Log2(float64(ns)/1e9) * float64(power)))
	value := new(big.Int).Exp(big.NewInt(ns), big.NewInt(power), nil)
	second := new(big.Int).Exp(big.NewInt(1e9), big.NewInt(power), nil)
	atMost := func(i int32) bool {
		left, right := value, second
		if i < 0 {
			left = new(big.Int).Lsh(left, uint(-i))
		} else {
			right = new(big.Int).Lsh(right, uint(i))
		}
		return left.Cmp(right) <= 0
	}
	for !atMost(i) {
		i++
	}
	for atMost(i - 1) {
		i--
	}
	return i
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
				got := s.F * 1e9
				fits, nearest := quantileFits(got, q, durations)
				ratio := max(got/nearest, nearest/got)
				assert.True(t, fits && ratio <= maxRatio, "%s of %s: %v ns, the exact quantile is %v", query, name, got, nearest)
				worst = max(worst, ratio)
			}
		}
		t.Logf("quantiles by %s: at most %.2f %% from the exact ones", by, 100*(worst-1))
	}
}

// quantileFits reports whether got is in the same bucket as the sample at
// nearest rank ⌈q·n⌉, and returns that sample. Prometheus counts ranks from the
// upper end for q ≥ 0.5; where q·n is an integer it then means the next sample.
func quantileFits(got, q float64, sorted []int64) (ok bool, nearest float64) {
	n := len(sorted)
	if n == 0 {
		return false, math.NaN()
	}
	rank := q * float64(n)
	ranks := []float64{math.Ceil(rank)}
	if whole := math.Round(rank); math.Abs(rank-whole) < 1e-6 {
		ranks = []float64{whole, whole + 1}
	}
	const rounding = 1e-9
	for _, rank := range ranks {
		ns := sorted[min(max(int(rank), 1), n)-1]
		index := float64(bucketOf(ns, 5))
		lower, upper := 1e9*math.Exp2((index-1)/32), 1e9*math.Exp2(index/32)
		nearest = float64(ns)
		if got >= lower*(1-rounding) && got <= upper*(1+rounding) {
			return true, nearest
		}
	}
	return false, nearest
}

// testClassicHistograms: the classic buckets are exact too, and their bounds
// are round numbers.
func testClassicHistograms(t *testing.T, f *fleet) {
	vector := f.classic.vector(t, "sum by (stage, le) (opa_decision_stage_duration_seconds_bucket)", f.settled)
	vector = append(vector, f.classic.vector(t, "sum by (stage, path, le) (opa_decision_path_duration_seconds_bucket)", f.settled)...)
	durations := f.logged.exported()
	assert.Len(t, vector, 12*len(durations))
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
