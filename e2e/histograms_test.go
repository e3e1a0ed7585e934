// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
)

// quantiles are those that are tested.
var quantiles = []float64{0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1}

// maxRatio is how far a quantile of Prometheus may be from the exact one, by
// nearest rank: both are in the same bucket, of schema 5. The middle of a
// bucket is at most 1.1 % from all that is in it; Prometheus interpolates, and
// may say anything within the bucket: up to 2.2 %.
var maxRatio = math.Exp2(1.0 / 32)

// pathStages are the stages that are kept by path.
var pathStages = []string{"server_handler", "rego_query_eval"}

// exported returns the durations that there are histograms of: each stage's
// over all paths, with the path "", and by path.
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
	seen, want := map[stage]bool{}, f.logged.exported()
	for _, s := range vector {
		key := stage{s.Metric.Get("path"), s.Metric.Get("stage")}
		seen[key] = true
		if s.H == nil {
			t.Errorf("%v is no native histogram", key)
			continue
		}
		checkHistogram(t, key, s.H, want[key])
	}
	for key := range want {
		if !seen[key] {
			t.Errorf("%v is missing", key)
		}
	}
}

func checkHistogram(t *testing.T, key stage, h *histogram.FloatHistogram, durations []int64) {
	t.Helper()
	want := map[int32]float64{}
	var sum int64
	for _, ns := range durations {
		want[bucketOf(ns, h.Schema)]++
		sum += ns
	}
	if h.Count != float64(len(durations)) {
		t.Errorf("%v: count %v, want %d", key, h.Count, len(durations))
	}
	if exact := float64(sum) / 1e9; math.Abs(h.Sum-exact) > 1e-12*exact {
		t.Errorf("%v: sum %v, want %v", key, h.Sum, exact)
	}
	got := map[int32]float64{}
	for it := h.PositiveBucketIterator(); it.Next(); {
		if b := it.At(); b.Count > 0 {
			got[b.Index] = b.Count
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v: counts by bucket of schema %d: %v\nwant %v", key, h.Schema, got, want)
	}
	if h.ZeroCount != 0 || len(h.NegativeBuckets) > 0 {
		t.Errorf("%v: %v zeros, %d negative buckets, want none", key, h.ZeroCount, len(h.NegativeBuckets))
	}
	if h.Schema != 5 {
		t.Errorf("%v: schema %d, want 5", key, h.Schema)
	}
}

// bucketOf returns the bucket that a positive number of nanoseconds belongs
// to: 2^((i-1)/2^schema) < ns/10^9 ≤ 2^(i/2^schema), decided by integers.
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
	for _, selection := range []struct {
		by    string
		match func(name string) func(stage) bool
	}{
		{"stage", func(name string) func(stage) bool { return func(s stage) bool { return s.name == name } }},
		{"path", func(name string) func(stage) bool {
			return func(s stage) bool { return s.path == name && s.name == "rego_query_eval" }
		}},
	} {
		family := "opa_decision_stage_duration_seconds"
		if selection.by == "path" {
			family = `opa_decision_path_duration_seconds{stage="rego_query_eval"}`
		}
		worst := 1.0
		for _, q := range quantiles {
			query := fmt.Sprintf("histogram_quantile(%v, sum by (%s) (%s))", q, selection.by, family)
			vector := f.native.vector(t, query, f.settled)
			if len(vector) < 4 {
				t.Errorf("%s: only %d series", query, len(vector))
			}
			for _, s := range vector {
				name := s.Metric.Get(selection.by)
				durations := f.logged.of(selection.match(name))
				got := s.F * 1e9
				ok, nearest := quantileFits(got, q, durations)
				if !ok {
					t.Errorf("%s, %s %s: %v ns, the exact quantile of %d is %v", query, selection.by, name, got, len(durations), nearest)
				}
				worst = max(worst, got/nearest, nearest/got)
				if worst > maxRatio {
					t.Errorf("%s, %s %s: %v ns is over %v from the exact quantile %v", query, selection.by, name, got, maxRatio, nearest)
				}
			}
		}
		t.Logf("quantiles by %s: at most %.2f %% from the exact ones", selection.by, 100*(worst-1))
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

// testClassicHistograms: the classic buckets are exact too, and at round
// numbers.
func testClassicHistograms(t *testing.T, f *fleet) {
	vector := f.classic.vector(t, "sum by (stage, le) (opa_decision_stage_duration_seconds_bucket)", f.settled)
	vector = append(vector, f.classic.vector(t, "sum by (stage, path, le) (opa_decision_path_duration_seconds_bucket)", f.settled)...)
	durations := f.logged.exported()
	if want := 12 * len(durations); len(vector) != want {
		t.Errorf("%d buckets, want %d", len(vector), want)
	}
	if len(f.classic.vector(t, `opa_decision_stage_duration_seconds_bucket{le="0.001"}`, f.settled)) == 0 {
		t.Error("there is no bucket of 1 ms")
	}
	for _, s := range vector {
		key := stage{s.Metric.Get("path"), s.Metric.Get("stage")}
		bound, err := strconv.ParseFloat(s.Metric.Get("le"), 64)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, ns := range durations[key] {
			if float64(ns) <= math.Round(bound*1e9) {
				want++
			}
		}
		if s.F != float64(want) {
			t.Errorf("%v: %v of at most %v s, want %d", key, s.F, bound, want)
		}
	}
}
