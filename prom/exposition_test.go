// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// cell is a stage of a path. The path "" stands for all paths.
type cell struct{ path, stage string }

// fill adds n random decisions to r and returns the durations of each cell.
func fill(r *rollup.Rollup, n int) map[cell][]int64 {
	random := rand.New(rand.NewPCG(1, 2))
	raw := map[cell][]int64{}
	for i := range n {
		path := fmt.Sprintf("authz/p%d", i%3)
		all := numbers(map[string]int64{"counter_server_query_cache_hit": int64(i % 2)})
		for _, stage := range []string{"server_handler", "rego_query_eval", "rego_input_parse"} {
			d := lognormal(random)
			if i%10 == 0 { // the whole range, so that the schema is reduced
				d = random.Int64() >> random.IntN(63)
			}
			all = append(all, rollup.Number{Key: "timer_" + stage + "_ns", Value: d})
			if d > 0 { // a timer of 0 is unfinished
				raw[cell{path, stage}] = append(raw[cell{path, stage}], d)
				raw[cell{"", stage}] = append(raw[cell{"", stage}], d)
			}
		}
		r.Add(rollup.Decision{Path: path, Outcome: outcome.Outcome(i % 5), Numbers: all})
	}
	return raw
}

func TestHistograms(t *testing.T) {
	t.Parallel()
	const n = 3000
	for _, seconds := range [][]float64{
		{},
		{1e-05, 5e-05, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 1, 10},
		{0.005, 0.01, 0.025, 0.05, 0.1, 0.123456789, 0.25, 0.3, 0.5, 0.7, 1, 1.1, 2.5, 5, 10},
		{1e-9, 3e-9, 123456.123456789, 9e9},
	} {
		r := newRollup(t, bounds(t, seconds...))
		raw := fill(r, n)
		registry := newRegistry(t, r, prom.Options{})
		for name, scraped := range map[string]families{
			"text":     decode(t, encode(t, registry, text), text),
			"protobuf": decode(t, encode(t, registry, protobuf), protobuf),
		} {
			t.Run(fmt.Sprint(name, seconds), func(t *testing.T) {
				byPath, all := scraped["opa_decision_path_duration_seconds"].GetMetric(), scraped["opa_decision_stage_duration_seconds"].GetMetric()
				if len(byPath) != 3*2 || len(all) != 3 {
					t.Fatalf("%d series by path and %d over all", len(byPath), len(all))
				}
				for _, m := range append(byPath, all...) {
					c := cell{label(m, "path"), label(m, "stage")}
					values := raw[c]
					checkTotals(t, c, m.GetHistogram(), values)
					checkClassic(t, c, m.GetHistogram(), seconds, values)
					if name == "protobuf" {
						checkNative(t, c, m.GetHistogram(), values)
						checkCreated(t, m.GetHistogram().GetCreatedTimestamp().AsTime())
					}
				}
			})
		}
	}
}

func checkTotals(t *testing.T, c cell, h *dto.Histogram, values []int64) {
	t.Helper()
	var sum float64
	for _, v := range values {
		sum += float64(v) / 1e9
	}
	if h.GetSampleCount() != uint64(len(values)) || math.Abs(h.GetSampleSum()-sum) > 1e-12*sum {
		t.Errorf("%v: count %d and sum %v, want %d and %v", c, h.GetSampleCount(), h.GetSampleSum(), len(values), sum)
	}
}

// checkClassic compares the buckets with counts of the values up to each given
// bound, in whole nanoseconds.
func checkClassic(t *testing.T, c cell, h *dto.Histogram, seconds []float64, values []int64) {
	t.Helper()
	buckets := h.GetBucket()
	if n := len(buckets); n > 0 && math.IsInf(buckets[n-1].GetUpperBound(), 1) { // text has it
		buckets = buckets[:n-1]
	}
	if len(buckets) != len(seconds) {
		t.Fatalf("%v: %d bounds, want %d", c, len(buckets), len(seconds))
	}
	for i, b := range buckets {
		want, bound := uint64(0), int64(math.Round(seconds[i]*1e9))
		for _, v := range values {
			if v <= bound {
				want++
			}
		}
		if b.GetUpperBound() != seconds[i] || b.GetCumulativeCount() != want {
			t.Errorf("%v: %d up to %v, want %d up to %v", c, b.GetCumulativeCount(), b.GetUpperBound(), want, seconds[i])
		}
	}
}

// checkNative decodes the spans and compares them with an exponential histogram
// of the same values.
func checkNative(t *testing.T, c cell, h *dto.Histogram, values []int64) {
	t.Helper()
	reference := exphist.New(exphist.Layout{Unit: exphist.Nanosecond})
	for _, v := range values {
		reference.Record(v)
	}
	var s exphist.Snapshot
	reference.Snapshot(&s)
	if int(h.GetSchema()) != s.Layout().Schema || !(h.GetZeroThreshold() > 0 && h.GetZeroThreshold() < 0.5e-9) || h.GetZeroCount() != 0 {
		t.Errorf("%v: schema %d, zero threshold %v, zeros %d", c, h.GetSchema(), h.GetZeroThreshold(), h.GetZeroCount())
	}
	got, want := decodeSpans(t, h), map[int]int64{}
	first, counts := s.Buckets()
	for i, n := range counts {
		if n > 0 {
			want[first+i] = int64(n)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v: buckets\n%v, want\n%v", c, got, want)
	}
}

// decodeSpans returns the counts of the non-empty buckets by index.
func decodeSpans(t testing.TB, h *dto.Histogram) map[int]int64 {
	t.Helper()
	counts := map[int]int64{}
	index, n, total := 0, int64(0), int64(0)
	deltas := h.GetPositiveDelta()
	for i, span := range h.GetPositiveSpan() {
		if i > 0 && span.GetOffset() <= 0 || span.GetLength() == 0 {
			t.Fatalf("span %v", span)
		}
		index += int(span.GetOffset())
		for range span.GetLength() {
			n += deltas[0]
			deltas = deltas[1:]
			if n < 0 {
				t.Fatalf("bucket %d holds %d", index, n)
			}
			if n > 0 {
				counts[index] = n
			}
			total += n
			index++
		}
	}
	if len(deltas) != 0 || uint64(total)+h.GetZeroCount() != h.GetSampleCount() {
		t.Fatalf("%d deltas too many; %d values in buckets, of %d", len(deltas), total, h.GetSampleCount())
	}
	return counts
}

func checkCreated(t *testing.T, created time.Time) {
	t.Helper()
	if age := time.Since(created); age < 0 || age > time.Hour {
		t.Errorf("created %v, %v ago", created, age)
	}
}

func TestCounters(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	add := func(path string, o outcome.Outcome, handler, eval, hits int64) {
		r.Add(rollup.Decision{Path: path, Outcome: o, Numbers: numbers(map[string]int64{
			"timer_server_handler_ns": handler, "timer_rego_query_eval_ns": eval, "counter_server_query_cache_hit": hits,
		})})
	}
	add("a", outcome.Allowed, 3e9, 1e9, 2)
	add("a", outcome.Denied, 4e9, 1e9, 3)
	add("a", outcome.Denied, 0, 1e9, 0)
	add("b", outcome.Undefined, 1e9, -5, 1)
	r.Add(rollup.Decision{Path: "b", Outcome: outcome.Failed, Code: "eval_conflict_error", Numbers: numbers(map[string]int64{"counter_x": -2, "counter_y": -1})})
	r.Add(rollup.Decision{Path: "b", Outcome: outcome.Cancelled, Numbers: numbers(map[string]int64{"timer_server_handler_ns": 0})})
	r.Add(rollup.Decision{Path: "b", Outcome: outcome.Neither, Overflow: true, Numbers: numbers(map[string]int64{
		"timer_rego_query_parse_ns": -7, "timer_mine_ns": 1, "timer_mine_too_ns": 1, "counter_mine": 3,
	})})

	registry := newRegistry(t, r, prom.Options{})
	f, lines := gather(t, registry), string(encode(t, registry, text))
	for _, want := range []string{
		`opa_decisions_total{outcome="allowed",path="a"} 1`,
		`opa_decisions_total{outcome="denied",path="a"} 2`,
		`opa_decisions_total{outcome="result",path="a"} 0`,
		`opa_decisions_total{outcome="undefined",path="b"} 1`,
		`opa_decisions_total{outcome="error",path="b"} 1`,
		`opa_decisions_total{outcome="cancelled",path="b"} 1`,
		`opa_decision_errors_total{code="eval_conflict_error"} 1`,
		`opa_decision_counters_total{counter="server_query_cache_hit"} 6`,
		`opa_decision_path_self_seconds_total{path="a",stage="server_handler"} 5`,
		`opa_decision_path_self_seconds_total{path="a",stage="rego_query_eval"} 3`,
		`opa_decision_stage_self_seconds_total{stage="server_handler"} 6`,
		`opa_decision_stage_self_seconds_total{stage="rego_query_eval"} 3`,
		`opa_decision_stage_unfinished_total{cause="unknown",stage="server_handler"} 1`,
		`opa_decision_stage_unfinished_total{cause="failed",stage="server_handler"} 1`,
		`opa_decision_label_overflow_total{kind="path"} 1`,
		`opa_decision_label_overflow_total{kind="stage"} 2`,
		`opa_decision_label_overflow_total{kind="counter"} 3`,
		`opa_decision_values_invalid_total{reason="negative"} 2`,
		`opa_decision_values_invalid_total{reason="malformed"} 2`,
		fmt.Sprint("opa_decision_metric_series ", countSeries([]byte(lines))),
	} {
		if !strings.Contains(lines, "\n"+want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	for name, family := range f {
		for _, m := range family.GetMetric() {
			if m.GetCounter() != nil {
				checkCreated(t, m.GetCounter().GetCreatedTimestamp().AsTime())
			}
			if m.GetHistogram() != nil && m.GetHistogram().GetSampleCount() == 0 {
				t.Errorf("%s: an empty histogram: %v", name, m)
			}
		}
	}
	// Stage rego_query_eval of path b has one negative value and no other.
	if got := len(f["opa_decision_path_duration_seconds"].GetMetric()); got != 3 {
		t.Errorf("%d histograms by path, want 3", got)
	}
}

// TestLikeNativeHistogram compares with a native histogram of Prometheus'
// client that has the same durations in seconds. No duration is so near to a
// bound that rounding to float64 moves it across.
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
		r.Add(rollup.Decision{Path: "p", Outcome: outcome.Allowed, Numbers: numbers(map[string]int64{"timer_server_handler_ns": d})})
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

// TestZeros merges a rollup with a snapshot that has durations of 0. A rollup
// itself does not count them.
func TestZeros(t *testing.T) {
	t.Parallel()
	r, h := newRollup(t, rollup.Options{}), exphist.New(exphist.Layout{Unit: exphist.Nanosecond})
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

// TestLint runs the checks of `promtool check metrics`.
func TestLint(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	fill(r, 100)
	registry := newRegistry(t, r, prom.Options{})
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for name, f := range gather(t, registry) {
		if n := len(f.GetHelp()); n < 20 || n > 1000 { // stores cut at 1,024 bytes
			t.Errorf("%s: help %q", name, f.GetHelp())
		}
	}
}
