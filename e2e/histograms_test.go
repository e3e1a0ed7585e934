// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A stage is a stage of one path, or with the path "" of all.
type stage struct{ path, name string }

// durations is what `regometer report` says about the durations of a stage.
type durations struct {
	Count      int
	Unfinished int
	Sum        int64 `json:"sum_ns"`
	Min        int64 `json:"min_ns"`
	Max        int64 `json:"max_ns"`
}

// decisions is what `regometer report` says about the decision logs of servers.
type decisions struct {
	stages   map[stage]durations
	counters map[string]int
}

// readDecisions reads the logs of servers.
func readDecisions(t *testing.T, servers ...*opa) *decisions {
	args := []string{"report", "--format", "json"}
	for _, s := range servers {
		args = append(args, s.Log)
	}
	var report struct {
		Groups []struct {
			Path     string
			Counters map[string]int
			Stages   map[string]durations
		}
	}
	require.NoError(t, json.Unmarshal([]byte(run(t, "", nil, regometer(t), args...)), &report))
	require.NotEmpty(t, report.Groups, "the decision logs are empty")
	d := &decisions{map[stage]durations{}, map[string]int{}}
	for _, g := range report.Groups {
		for name, n := range g.Counters {
			d.counters[name] += n
		}
		for name, s := range g.Stages {
			d.stages[stage{g.Path, name}] = s
			all, ok := d.stages[stage{"", name}]
			if !ok {
				all.Min = math.MaxInt64
			}
			all.Count, all.Unfinished, all.Sum = all.Count+s.Count, all.Unfinished+s.Unfinished, all.Sum+s.Sum
			if s.Count > 0 {
				all.Min, all.Max = min(all.Min, s.Min), max(all.Max, s.Max)
			}
			d.stages[stage{"", name}] = all
		}
	}
	return d
}

// testNativeHistograms compares the merged histograms of all servers, by stage
// and path, with the decision logs.
func testNativeHistograms(t *testing.T, f *fleet) {
	vector := f.native.vector(t, "sum by (stage) (opa_decision_stage_duration_seconds)", f.settled)
	all := len(vector)
	vector = append(vector, f.native.vector(t, `sum by (stage, path) (opa_decision_path_duration_seconds{path!="other"})`, f.settled)...)
	assert.Greater(t, len(vector), all, "histograms by path")
	for _, s := range vector {
		key := stage{s.Metric.Get("path"), s.Metric.Get("stage")}
		want, h := f.logged.stages[key], s.H
		require.NotNil(t, h, "%v is not a native histogram", key)
		assert.EqualValues(t, want.Count, h.Count, "%v: count", key)
		assert.InEpsilon(t, float64(want.Sum)/1e9, h.Sum, 1e-12, "%v: sum", key)
		assert.Zero(t, h.ZeroCount, "%v: zeros", key)
		assert.EqualValues(t, 5, h.Schema, "%v: schema", key)
		var used []int32
		for it := h.PositiveBucketIterator(); it.Next(); {
			if b := it.At(); b.Count > 0 {
				used = append(used, b.Index)
			}
		}
		assert.Equal(t, [2]int32{bucketOf(want.Min), bucketOf(want.Max)}, [2]int32{used[0], used[len(used)-1]}, "%v: first and last bucket", key)
	}
	for key, want := range f.logged.stages {
		if key.path == "" && want.Count > 0 {
			all--
		}
	}
	assert.Zero(t, all, "stages that only one side has")
}

// bucketOf returns the bucket i of a positive number of nanoseconds:
// 2^((i-1)/32) < ns/10^9 ≤ 2^(i/32).
func bucketOf(ns int64) int32 { return int32(math.Ceil(math.Ldexp(math.Log2(float64(ns)/1e9), 5))) }

// testClassicHistograms: all durations are in the classic buckets from the
// longest on, and none is below the shortest. The bounds are round numbers.
func testClassicHistograms(t *testing.T, f *fleet) {
	vector := f.classic.vector(t, "sum by (stage, le) (opa_decision_stage_duration_seconds_bucket)", f.settled)
	vector = append(vector, f.classic.vector(t, `sum by (stage, path, le) (opa_decision_path_duration_seconds_bucket{path!="other"})`, f.settled)...)
	assert.NotEmpty(t, f.classic.vector(t, `opa_decision_stage_duration_seconds_bucket{le="0.001"}`, f.settled))
	full, empty := 0, 0
	for _, s := range vector {
		bound, err := strconv.ParseFloat(s.Metric.Get("le"), 64)
		require.NoError(t, err)
		switch want := f.logged.stages[stage{s.Metric.Get("path"), s.Metric.Get("stage")}]; {
		case bound*1e9 >= float64(want.Max):
			full++
			assert.EqualValues(t, want.Count, s.F, "%v", s.Metric)
		case bound*1e9 < float64(want.Min):
			empty++
			assert.Zero(t, s.F, "%v", s.Metric)
		}
	}
	assert.Greater(t, min(full, empty), 20, "buckets that are full, and empty")
}
