// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"maps"
	"reflect"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/report"
)

// The figures of a log are counted here by hand.
func TestFiguresOfReport(t *testing.T) {
	t.Parallel()
	r, err := report.Read(t.Context(), report.Options{Inputs: []string{"testdata/decisions.jsonl"}})
	if err != nil {
		t.Fatal(err)
	}
	got := figuresOf(r)
	for series, want := range map[string]int64{
		`opa_decisions_total{outcome="allowed",path="rbac/allow"}`:                            1,
		`opa_decisions_total{outcome="result",path="(query)"}`:                                1,
		`opa_decision_errors_total{code="eval_builtin_error"}`:                                1,
		`opa_decision_counters_total{counter="rego_builtin_http_send_network_requests"}`:      2,
		`opa_decision_stage_duration_seconds_count{stage="rego_builtin_http_send"}`:           2,
		`opa_decision_stage_duration_seconds_sum{stage="rego_builtin_http_send"}`:             849641 + 228313,
		`opa_decision_stage_unfinished_total{stage="server_handler"}`:                         2,
		`opa_decision_stage_duration_seconds_count{stage="other"}`:                            8,
		`opa_decision_path_duration_seconds_count{path="(query)",stage="rego_query_eval"}`:    2,
		`opa_decision_path_duration_seconds_sum{path="(query)",stage="rego_query_eval"}`:      52522 + 23322,
		`opa_decision_path_duration_seconds_count{path="(query)",stage="server_handler"}`:     0,
		`opa_decision_path_duration_seconds_count{path="(query)",stage="rego_query_compile"}`: 0,
		`opa_decision_stage_duration_seconds_count{stage="eval_op_plug"}`:                     0,
		`opa_decision_counters_total{counter="eval_op_virtual_cache_miss"}`:                   0,
	} {
		if got[series] != want {
			t.Errorf("%s is %d, want %d", series, got[series], want)
		}
		if _, ok := got[series]; ok && want == 0 {
			t.Errorf("%s is there", series)
		}
	}
	self := int64(0)
	for series, ns := range got {
		if len(series) > len(selfMetric) && series[:len(selfMetric)] == selfMetric {
			self += ns
		}
	}
	if uint64(self) != r.Total.Time.Lo {
		t.Errorf("the self times add up to %d, want %d", self, r.Total.Time.Lo)
	}
}

func TestAddExported(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	e := newExported(registry)
	e.add("a/b", allowed, 1)
	e.add("a/b", allowed, 3)
	e.decisions.WithLabelValues("a/b", "denied")
	unfinished := prometheus.NewCounterVec(prometheus.CounterOpts{Name: unfinishedMetric, Help: "x"}, []string{"stage", "cause"})
	unfinished.WithLabelValues("s", "query").Add(2)
	unfinished.WithLabelValues("s", "unknown").Add(3)
	uptime := prometheus.NewGauge(prometheus.GaugeOpts{Name: "uptime_seconds", Help: "x"})
	uptime.Set(7)
	registry.MustRegister(unfinished, uptime)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := figures{}
	for _, f := range families {
		got.addExported(f)
	}
	want := figures{
		`opa_decisions_total{outcome="allowed",path="a/b"}`:                            2,
		`opa_decision_stage_self_seconds_total{stage="rego_query_eval"}`:               2000,
		`opa_decision_stage_self_seconds_total{stage="server_handler"}`:                2000,
		`opa_decision_stage_duration_seconds_count{stage="rego_query_eval"}`:           2,
		`opa_decision_stage_duration_seconds_count{stage="server_handler"}`:            2,
		`opa_decision_stage_duration_seconds_sum{stage="rego_query_eval"}`:             2000,
		`opa_decision_stage_duration_seconds_sum{stage="server_handler"}`:              4000,
		`opa_decision_path_duration_seconds_count{path="a/b",stage="rego_query_eval"}`: 2,
		`opa_decision_path_duration_seconds_count{path="a/b",stage="server_handler"}`:  2,
		`opa_decision_path_duration_seconds_sum{path="a/b",stage="rego_query_eval"}`:   2000,
		`opa_decision_path_duration_seconds_sum{path="a/b",stage="server_handler"}`:    4000,
		`opa_decision_stage_unfinished_total{stage="s"}`:                               5,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	exported := figures{"a": 1, "b": 2, "c": 3}
	if got := differences(exported, maps.Clone(exported)); got != nil {
		t.Errorf("differences of the same: %q", got)
	}
	got := differences(exported, figures{"a": 1, "b": 3, "d": 4})
	want := []string{
		"b is 2 in /metrics, 3 in the report",
		"c is 3 in /metrics, 0 in the report",
		"d is not in /metrics, 4 in the report",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
