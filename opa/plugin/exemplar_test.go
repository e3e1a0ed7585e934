// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/server"

	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// traced returns the context of a request in trace n.
func traced(n int, flags trace.TraceFlags) context.Context {
	return trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0: 1, 15: byte(n)}, SpanID: trace.SpanID{1}, TraceFlags: flags,
	}))
}

// exemplarsOf returns the number of each histogram's exemplars, and the value
// of each by its histogram and trace.
func exemplarsOf(t *testing.T, registry *prometheus.Registry) (numbers map[string]int, values map[string]float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	numbers, values = map[string]int{}, map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, e := range m.GetHistogram().GetExemplars() {
				name := f.GetName()
				for _, l := range m.GetLabel() {
					name += " " + l.GetValue()
				}
				if e.GetLabel()[0].GetName() != "trace_id" || e.GetTimestamp() == nil {
					t.Errorf("%s: the exemplar %v has no trace or no time", name, e)
				}
				numbers[name]++
				values[name+" "+e.GetLabel()[0].GetValue()] = e.GetValue()
			}
		}
	}
	return numbers, values
}

// TestExemplars: the handler's histograms have traces of sampled decisions, at
// most ten and the slowest among them, if distributed tracing is on. There is
// room for all labels.
func TestExemplars(t *testing.T) {
	t.Parallel()
	const tracing = `"distributed_tracing": {"type": "grpc", "address": "localhost:4317"}, `
	const plugins = `"plugins": {"regometer": {"max_paths": 2, "paths": {"allow": ["a", "b"]}}}}`
	yes := any(true)
	const all, ofA, ofB = "opa_decision_stage_duration_seconds server_handler",
		"opa_decision_path_duration_seconds a server_handler", "opa_decision_path_duration_seconds b server_handler"
	sampled := map[string]int{all: 10, ofA: 10, ofB: 1}
	for _, label := range []string{outcome.Query, outcome.AllData, rollup.Other} {
		sampled["opa_decision_path_duration_seconds "+label+" server_handler"] = 1
	}
	for _, test := range []struct {
		config string
		flags  trace.TraceFlags
		want   map[string]int // the number of exemplars
	}{
		{"{" + tracing + plugins, trace.FlagsSampled, sampled},
		{"{" + tracing + plugins, 0, map[string]int{}},
		{"{" + plugins, trace.FlagsSampled, map[string]int{}},
	} {
		registry := prometheus.NewRegistry()
		ns := int64(0)
		p := newPluginIn(t, test.config, hooked(registry, func(dst []rollup.Number, _ metrics.Metrics) []rollup.Number {
			return append(dst, rollup.Number{Key: handlerKey, Value: ns})
		}))
		for n := range 60 {
			if ns = int64(n+1) * 1e5; n == 30 {
				ns = 5e9
			}
			p.ObserveDecision(traced(n, test.flags), &server.Info{Path: "a", Results: &yes, Metrics: metrics.New()})
		}
		for _, event := range []logs.EventV1{{Path: "b"}, {Query: "x = 1"}, {Path: "/"}, {Path: "nothing"}} {
			event.Result, event.Metrics = &yes, map[string]any{handlerKey: int64(3e6)}
			_ = p.Log(traced(77, test.flags), event)
		}
		_ = p.Log(traced(78, test.flags), logs.EventV1{Path: "b", Result: &yes, Metrics: map[string]any{handlerKey: int64(0)}})
		numbers, got := exemplarsOf(t, registry)
		if fmt.Sprint(numbers) != fmt.Sprint(test.want) {
			t.Errorf("%s: the exemplars are %v, want %v", test.config, numbers, test.want)
		}
		if test.want[ofA] > 0 && (got[ofA+traced30] != 5 || got[all+traced30] != 5 || got[ofB+" 0100000000000000000000000000004d"] != 0.003) {
			t.Errorf("the slowest decision is not among the exemplars %v", got)
		}
	}
}

// traced30 is the trace of the slowest decision.
const traced30 = " 0100000000000000000000000000001e"

// TestExemplarsAreBounded: exemplars do not grow with each policy.
func TestExemplarsAreBounded(t *testing.T) {
	t.Parallel()
	var e exemplars
	for n := range 100 {
		d := decision{trace: trace.TraceID{1}}
		d.Path, d.Numbers = fmt.Sprint(n), []rollup.Number{{Key: handlerKey, Value: 1}}
		if e.add(&d, 5); len(e.byPath) > 5 || e.byPath[d.Path] == nil {
			t.Fatalf("after %d paths there are %d histograms, want at most 5, with the last path", n+1, len(e.byPath))
		}
	}
}
