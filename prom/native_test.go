// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// TestLikeNativeHistogram gives the same durations to a native histogram of
// Prometheus' client, in seconds. No duration is so near to a bound that
// rounding to float64 moves it across.
func TestLikeNativeHistogram(t *testing.T) {
	t.Parallel()
	const schema5 = 1.0219
	theirs := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "x", Help: "x", NativeHistogramBucketFactor: schema5})
	registry := prometheus.NewRegistry()
	if err := registry.Register(theirs); err != nil {
		t.Fatal(err)
	}
	r := newRollup(t, rollup.Options{})
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 5000 {
		d := max(2000, lognormal(random)) // fewer than 20 octaves, so that the schema stays
		if i%100 == 0 {
			d = 1e9 >> random.IntN(9) // 1 s, 0.5 s …: bounds, each in the bucket that it ends
		}
		theirs.Observe(float64(d) / 1e9)
		r.Add(rollup.Decision{Path: "p", Outcome: rollup.Allowed}, map[string]any{"timer_server_handler_ns": d})
	}
	want := gather(t, registry)["x"].GetMetric()[0].GetHistogram()
	got := gather(t, newRegistry(t, r, prom.Options{}))["opa_decision_stage_duration_seconds"].GetMetric()[0].GetHistogram()
	if got.GetSchema() != want.GetSchema() || got.GetZeroThreshold() != want.GetZeroThreshold() || got.GetSampleCount() != want.GetSampleCount() {
		t.Errorf("schema, zero threshold, count: %v, %v, %v, want %v, %v, %v", got.GetSchema(), got.GetZeroThreshold(),
			got.GetSampleCount(), want.GetSchema(), want.GetZeroThreshold(), want.GetSampleCount())
	}
	if g, w := decodeSpans(t, got), decodeSpans(t, want); fmt.Sprint(g) != fmt.Sprint(w) {
		t.Errorf("buckets\n%v, want\n%v", g, w)
	}
	if g, w := len(got.GetPositiveSpan()), len(want.GetPositiveSpan()); g != w {
		t.Errorf("%d spans, want %d", g, w)
	}
}

// TestZeros: a rollup counts no durations of 0, but may be merged with a
// snapshot that has some.
func TestZeros(t *testing.T) {
	t.Parallel()
	r, h := newRollup(t, rollup.Options{}), exphist.New(exphist.Nanosecond)
	for _, ns := range []int64{0, 0, 5} {
		h.Record(ns)
	}
	s := rollup.Snapshot{Stages: []rollup.StageTotal{{Stage: "server_handler"}}}
	h.Snapshot(&s.Stages[0].Histogram)
	if err := r.Merge(&s); err != nil {
		t.Fatal(err)
	}
	got := gather(t, newRegistry(t, r, prom.Options{}))["opa_decision_stage_duration_seconds"].GetMetric()[0].GetHistogram()
	if got.GetSampleCount() != 3 || got.GetZeroCount() != 2 || len(got.GetPositiveSpan()) != 1 {
		t.Errorf("%v", got)
	}
}
