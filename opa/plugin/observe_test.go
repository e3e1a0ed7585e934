// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/logging"
	testlog "github.com/open-policy-agent/opa/v1/logging/test"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/server"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/regometer/regometer/internal/race"
	"github.com/regometer/regometer/rollup"
)

// observed is the key of contexts of decisions that were observed.
type observed struct{}

// newObserver returns a plugin as the binary of `regometer build` makes it.
// numbers may be nil.
func newObserver(t testing.TB, config string, registry prometheus.Registerer, numbers func([]rollup.Number, metrics.Metrics) []rollup.Number) *Plugin {
	t.Helper()
	return newPluginOf(t, config, Factory{
		Registerer: registry, Numbers: numbers,
		Observed: func(ctx context.Context, _ *Plugin) bool { return ctx.Value(observed{}) != nil },
	})
}

// sumOf returns the sum of a metric's counters and gauges with these label
// values.
func sumOf(t *testing.T, g prometheus.Gatherer, name string, labels map[string]string) (sum float64) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
	next:
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if want, ok := labels[l.GetName()]; ok && want != l.GetValue() {
					continue next
				}
			}
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

// decisionMetrics is a collection of one decision's.
func decisionMetrics() metrics.Metrics {
	m := metrics.New()
	m.Timer(metrics.ServerHandler).Start()
	for m.Timer(metrics.RegoQueryEval).Stop() == 0 {
		m.Timer(metrics.RegoQueryEval).Start()
	}
	for m.Timer(metrics.ServerHandler).Stop() == 0 {
		m.Timer(metrics.ServerHandler).Start()
	}
	m.Counter(metrics.ServerQueryCacheHit).Add(3)
	return m
}

// A decision is counted alike as the server hands it over and as an event of
// the decision log, with the collection's numbers or its map.
func TestObserveDecision(t *testing.T) {
	t.Parallel()
	result, m := any(true), decisionMetrics()
	infos := []*server.Info{
		{Path: "rbac/allow", Results: &result, Metrics: m},
		{Path: "/rbac/allow/x", Metrics: m},
		{Path: "rbac/allow", Error: &topdown.Error{Code: topdown.ConflictErr}, Metrics: m},
		{Path: "nothing", Error: &topdown.Error{Code: topdown.CancelErr}, Metrics: metrics.New()},
		{Query: "x = 1", Results: &result},
	}
	byNumbers := func(dst []rollup.Number, m metrics.Metrics) []rollup.Number {
		for key, v := range m.All() {
			switch v := v.(type) {
			case int64:
				dst = append(dst, rollup.Number{Key: key, Value: v})
			case uint64:
				dst = append(dst, rollup.Number{Key: key, Value: int64(v)})
			}
		}
		return dst
	}
	const config = `{"paths": {"prefixes": ["rbac/allow"]}}`
	wantRegistry := prometheus.NewRegistry()
	want := newPlugin(t, config, wantRegistry)
	for _, info := range infos {
		event := logs.EventV1{Path: info.Path, Query: info.Query, Result: info.Results, Error: info.Error}
		if info.Metrics != nil {
			event.Metrics = info.Metrics.All()
		}
		if err := want.Log(t.Context(), event); err != nil {
			t.Error(err)
		}
	}
	for name, numbers := range map[string]func([]rollup.Number, metrics.Metrics) []rollup.Number{"numbers": byNumbers, "map": nil} {
		registry := prometheus.NewRegistry()
		p := newObserver(t, config, registry, numbers)
		for _, info := range infos {
			p.ObserveDecision(t.Context(), info)
		}
		for _, metric := range []string{
			"opa_decisions_total", "opa_decision_errors_total", "opa_decision_counters_total", "opa_decision_stage_duration_seconds",
			"opa_decision_path_duration_seconds", "opa_decision_path_self_seconds_total", "opa_decision_stage_self_seconds_total",
		} {
			for _, labels := range []map[string]string{nil, {"path": "rbac/allow"}, {"outcome": "cancelled"}, {"stage": "rego_query_eval"}, {"code": "eval_conflict_error"}} {
				if got, want := sumOf(t, registry, metric, labels), sumOf(t, wantRegistry, metric, labels); got != want {
					t.Errorf("%s: %s%v is %v, want %v", name, metric, labels, got, want)
				}
			}
		}
		if n := sumOf(t, registry, "opa_decision_received_total", map[string]string{"source": "server"}); n != float64(len(infos)) {
			t.Errorf("%s: %v decisions received, want %d", name, n, len(infos))
		}
	}
}

// Straight from the server come decisions, not events: for next, the plugin has
// to be the decision logger all the same.
func TestNextGetsNothing(t *testing.T) {
	t.Parallel()
	for decisionLogs, want := range map[string]bool{
		`{}`:                        true,
		`{"console": true}`:         true,
		`{"plugin": "another"}`:     true,
		`{"plugin": "file_logger"}`: false,
		`{"plugin": "regometer"}`:   false,
	} {
		logger := testlog.New()
		m, err := plugins.New([]byte(`{"decision_logs": `+decisionLogs+`, "plugins": {"regometer": {}, "file_logger": {}, "another": {}}}`),
			"test", inmem.New(), plugins.Logger(logger))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Stop(context.Background()) })
		f := Factory{Registerer: prometheus.NewRegistry(), Observed: func(context.Context, *Plugin) bool { return true }}
		c, err := f.Validate(m, []byte(`{"next": "file_logger"}`))
		if err != nil {
			t.Fatal(err)
		}
		p := f.New(m, c)
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Stop(context.Background()) })
		got := false
		for _, e := range logger.Entries() {
			got = got || e.Level == logging.Warn && strings.HasPrefix(e.Message, `The plugin "file_logger", named by plugins.regometer.next, gets no events`)
		}
		if got != want {
			t.Errorf("decision_logs: %s: it warns %v, want %v", decisionLogs, got, want)
		}
	}
}

// An OPA with the hook warns of a plugin that decides without the server.
func TestDecidersNeedTheLog(t *testing.T) {
	t.Parallel()
	const (
		missing     = `The plugin sees no decisions of %s, because decision_logs.plugin does not name it. Set decision_logs.plugin to "regometer"`
		notUploaded = "To upload them too, set decision_logs.service to far."
	)
	for config, want := range map[string]string{
		`"plugins": {"regometer": {}}`:                                                                                        "",
		`"plugins": {"regometer": {}, "envoy_ext_authz_grpc": {}}`:                                                            fmt.Sprintf(missing+".", "envoy_ext_authz_grpc"),
		`"plugins": {"regometer": {}, "envoy.ext_authz.grpc": {}}, "decision_logs": {"console": true}`:                        fmt.Sprintf(missing+".", "envoy.ext_authz.grpc"),
		`"plugins": {"regometer": {}, "envoy_ext_authz_grpc": {}, "x": {}}, "decision_logs": {"plugin": "x"}`:                 fmt.Sprintf(missing+`, and plugins.regometer.next to "x" to keep that plugin.`, "envoy_ext_authz_grpc"),
		`"plugins": {"regometer": {}, "envoy_ext_authz_grpc": {}}, "decision_logs": {"plugin": "regometer"}`:                  "",
		`"plugins": {"regometer": {}, "envoy_ext_authz_grpc": {}}, "decision_logs": {"plugin": "regometer", "reporting": {}}`: notUploaded,
	} {
		logger := testlog.New()
		m, err := plugins.New([]byte(`{"services": {"far": {"url": "http://127.0.0.1:1"}}, `+config+`}`), "test", inmem.New(), plugins.Logger(logger))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Stop(context.Background()) })
		f := Factory{Registerer: prometheus.NewRegistry(), Observed: func(context.Context, *Plugin) bool { return true }}
		c, err := f.Validate(m, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		p := f.New(m, c)
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Stop(context.Background()) })
		got := ""
		for _, e := range logger.Entries() {
			if e.Level == logging.Warn {
				got += e.Message
			}
		}
		if want == "" && got != "" || !strings.HasSuffix(got, want) {
			t.Errorf("%s: it warns %q, want %q", config, got, want)
		}
	}
}

// By both ways at once, each decision is counted once, and those that come by
// the decision log only are counted too.
func TestBothWays(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	p := newObserver(t, `{}`, registry, nil)
	got := 0
	p.setNext("test", counter{n: &got})
	for range 5 {
		p.ObserveDecision(t.Context(), &server.Info{Path: "x"})
		if err := p.Log(context.WithValue(t.Context(), observed{}, true), logs.EventV1{Path: "x"}); err != nil {
			t.Error(err)
		}
	}
	if err := p.Log(t.Context(), logs.EventV1{Path: "x"}); err != nil { // as of opa-envoy-plugin
		t.Error(err)
	}
	for source, want := range map[string]float64{"server": 5, "decision_log": 1} {
		if n := sumOf(t, registry, "opa_decision_received_total", map[string]string{"source": source}); n != want {
			t.Errorf("%v decisions from %s, want %v", n, source, want)
		}
	}
	if n := sumOf(t, registry, "opa_decisions_total", nil); n != 6 || got != 6 {
		t.Errorf("%v decisions, %d events handed on, want 6 and 6", n, got)
	}
}

func TestObserveDecisionAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	numbers := make([]rollup.Number, 0, 10)
	for key, v := range requestMetrics() {
		if n, ok := v.(int64); ok {
			numbers = append(numbers, rollup.Number{Key: key, Value: n})
		}
	}
	p := newObserver(t, `{"paths": {"allow": ["rbac/allow"]}}`, prometheus.NewRegistry(), func(dst []rollup.Number, _ metrics.Metrics) []rollup.Number {
		return append(dst, numbers...)
	})
	result := any(true)
	for name, info := range map[string]*server.Info{
		"allowed":   {Path: "rbac/allow", Results: &result, Metrics: metrics.New()},
		"undefined": {Path: "invented/by/a/client", Metrics: metrics.New()},
		"failed":    {Path: "rbac/allow", Error: errors.New("x"), Metrics: metrics.New()},
		"query":     {Query: "data.x", Results: &result, Metrics: metrics.New()},
	} {
		ctx := t.Context()
		p.ObserveDecision(ctx, info)
		if n := testing.AllocsPerRun(200, func() { p.ObserveDecision(ctx, info) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// What goes wrong within ObserveDecision is counted and ends there; before
// Start nothing is recorded.
func TestObserveDecisionFails(t *testing.T) {
	t.Parallel()
	(&Plugin{}).ObserveDecision(t.Context(), &server.Info{})
	p := newObserver(t, `{}`, prometheus.NewRegistry(), func([]rollup.Number, metrics.Metrics) []rollup.Number { panic("out of order") })
	p.ObserveDecision(t.Context(), &server.Info{Path: "x", Metrics: metrics.New()})
	p.ObserveDecision(t.Context(), &server.Info{Path: "x", Error: panicking{}})
	if n := p.counted().failures[causePanic].Load(); n != 2 {
		t.Errorf("%d failures, want 2", n)
	}
	p.ObserveDecision(t.Context(), &server.Info{Path: "x"}) // nothing is locked
	if n := p.total(); n != 1 {
		t.Errorf("%d decisions, want 1", n)
	}
}

// A buffer that is kept keeps no names, which are parts of the collection's
// memory. Other tests, which share the buffers, do not run meanwhile.
func TestNumbersAreNotKept(t *testing.T) {
	var used []rollup.Number
	p := newObserver(t, `{}`, prometheus.NewRegistry(), func(dst []rollup.Number, _ metrics.Metrics) []rollup.Number {
		dst = append(dst, rollup.Number{Key: "timer_rego_query_eval_ns", Value: 1}, rollup.Number{Key: "timer_x_ns", Value: 2})
		used = dst
		return dst
	})
	p.ObserveDecision(t.Context(), &server.Info{Path: "x", Metrics: metrics.New()})
	if len(used) != 2 || used[0] != (rollup.Number{}) || used[1] != (rollup.Number{}) {
		t.Errorf("kept: %v", used)
	}
}

// A buffer that one decision made large is not kept.
func TestManyNumbers(t *testing.T) {
	t.Parallel()
	many := make([]rollup.Number, 10_000)
	for i := range many {
		many[i] = rollup.Number{Key: "timer_rego_query_eval_ns", Value: 1}
	}
	registry := prometheus.NewRegistry()
	p := newObserver(t, `{}`, registry, func(dst []rollup.Number, _ metrics.Metrics) []rollup.Number { return append(dst, many...) })
	p.ObserveDecision(t.Context(), &server.Info{Path: "x", Metrics: metrics.New()})
	for range 10 {
		if b := numberBuffers.Get().(*[]rollup.Number); cap(*b) > maxNumbers {
			t.Errorf("a buffer of %d was kept", cap(*b))
		}
	}
	if n := sumOf(t, registry, "opa_decision_stage_duration_seconds", nil); n != 10_000 {
		t.Errorf("%v timers", n)
	}
}
