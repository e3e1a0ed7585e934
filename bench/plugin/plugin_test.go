// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin_test measures what the plugin costs a decision, by either way
// that it gets it, and, apart from it, what decision logging costs in OPA
// itself.
package plugin_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/logging"
	opametrics "github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/discovery"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/server"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"github.com/regometer/regometer/metrics"
	"github.com/regometer/regometer/opa"
	"github.com/regometer/regometer/opa/plugin"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

const policy = `package rbac
default allow := false
allow if input.user in {"alice", "bob"}`

// newManager returns a manager with the policy and these plugins, started.
func newManager(b *testing.B, config string) *plugins.Manager {
	b.Helper()
	policies := bundle.Bundle{
		Data:    map[string]any{},
		Modules: []bundle.ModuleFile{{Path: "/rbac.rego", URL: "/rbac.rego", Raw: []byte(policy), Parsed: ast.MustParseModule(policy)}},
	}
	policies.Manifest.Init()
	m, err := plugins.New([]byte(config), "bench", inmem.New(),
		plugins.Logger(logging.NewNoOpLogger()),
		plugins.InitBundles(map[string]*bundle.Bundle{"b": &policies}))
	if err != nil {
		b.Fatal(err)
	}
	if err := m.Init(b.Context()); err != nil {
		b.Fatal(err)
	}
	d, err := discovery.New(m, discovery.Factories(map[string]plugins.Factory{
		plugin.Name: plugin.Factory{Registerer: prometheus.NewRegistry(), Numbers: numbers},
		"noop":      noop{},
	}))
	if err != nil {
		b.Fatal(err)
	}
	m.Register(discovery.Name, d)
	if err := m.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Stop(context.Background()) })
	return m
}

// noop is a decision logger that does nothing, and its factory.
type noop struct{}

func (noop) Validate(*plugins.Manager, []byte) (any, error) { return nil, nil }
func (n noop) New(*plugins.Manager, any) plugins.Plugin     { return n }
func (noop) Start(context.Context) error                    { return nil }
func (noop) Stop(context.Context)                           {}
func (noop) Reconfigure(context.Context, any)               {}
func (noop) Log(context.Context, logs.EventV1) error        { return nil }

const (
	withNoOp   = `{"decision_logs": {"plugin": "noop"}, "plugins": {"noop": {}}}`
	withPlugin = `{"decision_logs": {"plugin": "regometer"}, "plugins": {"regometer": {}}}`
)

// decisions is how many different decisions are logged in turn, so that the
// branch predictor cannot learn them.
const decisions = 16

// events are decisions of a server, with eight metrics each.
func events() (all [decisions]logs.EventV1) {
	for i := range all {
		ns := int64(50_000<<(i%5) + i*7919)
		result := any(i%3 != 0)
		all[i] = logs.EventV1{
			Labels: map[string]string{"id": "bench"}, DecisionID: "1", Path: "rbac/allow", Result: &result,
			Metrics: map[string]any{
				"timer_server_handler_ns": ns, "timer_rego_input_parse_ns": ns / 8, "timer_rego_query_parse_ns": ns / 9,
				"timer_rego_query_compile_ns": ns / 4, "timer_rego_query_eval_ns": ns / 2, "timer_rego_builtin_http_send_ns": ns / 3,
				"counter_server_query_cache_hit": uint64(1), "counter_rego_builtin_http_send_network_requests": uint64(i),
			},
		}
	}
	return all
}

// BenchmarkLog measures Log alone, with one goroutine and two. What bounds it
// from below is the rollup, given the finished label and outcome.
func BenchmarkLog(b *testing.B) {
	all := events()
	for _, goroutines := range []int{1, 2} {
		b.Run(fmt.Sprintf("goroutines=%d/impl=regometer", goroutines), func(b *testing.B) {
			p := newManager(b, withPlugin).Plugin(plugin.Name).(*plugin.Plugin)
			run(b, goroutines, func(i int) { _ = p.Log(context.Background(), all[i]) })
		})
		b.Run(fmt.Sprintf("goroutines=%d/impl=floor", goroutines), func(b *testing.B) {
			r, err := rollup.New(rollup.Options{})
			if err != nil {
				b.Fatal(err)
			}
			run(b, goroutines, func(i int) { r.Add(rollup.Decision{Path: "rbac/allow"}, all[i].Metrics) })
		})
	}
}

// numbers is what the binary of `regometer build` gives the plugin, where OPA's
// collections are Regometer's.
func numbers(dst []rollup.Number, m opametrics.Metrics) []rollup.Number {
	own, _ := opa.Unwrap(m)
	for metric := range metrics.Each(own) {
		switch metric.Kind() {
		case metrics.KindTimer:
			dst = append(dst, rollup.Number{Key: metric.Key(), Value: metric.Int64()})
		case metrics.KindCounter:
			dst = append(dst, rollup.Number{Key: metric.Key(), Value: int64(metric.Uint64())})
		}
	}
	return dst
}

// infos are decisions as OPA's runtime gets them from its server, with eight
// metrics each.
func infos() (all [decisions]*server.Info) {
	for i := range all {
		m := metrics.New()
		for _, name := range []string{
			opametrics.ServerHandler, opametrics.RegoInputParse, opametrics.RegoQueryParse,
			opametrics.RegoQueryCompile, opametrics.RegoQueryEval, "rego_builtin_http_send",
		} {
			m.Timer(name).Start()
			time.Sleep(time.Duration(i*7) * time.Microsecond)
			m.Timer(name).Stop()
		}
		m.Counter(opametrics.ServerQueryCacheHit).Incr()
		m.Counter("rego_builtin_http_send_network_requests").Add(uint64(i))
		result := any(i%3 != 0)
		all[i] = &server.Info{DecisionID: "1", Path: "rbac/allow", Results: &result, Metrics: opa.Metrics(m)}
	}
	return all
}

// BenchmarkObserveDecision measures what the plugin adds to a decision in the
// binary of `regometer build`. What bounds it from below is the rollup, given
// the finished label and outcome and the parsed numbers.
func BenchmarkObserveDecision(b *testing.B) {
	all := infos()
	for _, goroutines := range []int{1, 2} {
		b.Run(fmt.Sprintf("goroutines=%d/impl=regometer", goroutines), func(b *testing.B) {
			p := newManager(b, withPlugin).Plugin(plugin.Name).(*plugin.Plugin)
			run(b, goroutines, func(i int) { p.ObserveDecision(context.Background(), all[i]) })
		})
		b.Run(fmt.Sprintf("goroutines=%d/impl=floor", goroutines), func(b *testing.B) {
			r, err := rollup.New(rollup.Options{Bounds: prom.DefaultBounds()})
			if err != nil {
				b.Fatal(err)
			}
			var parsed [decisions][]rollup.Number
			for i := range parsed {
				parsed[i] = numbers(nil, all[i].Metrics)
			}
			run(b, goroutines, func(i int) { r.AddNumbers(rollup.Decision{Path: "rbac/allow"}, parsed[i]) })
		})
	}
}

// run calls f b.N times in all, by so many goroutines at once.
func run(b *testing.B, goroutines int, f func(i int)) {
	f(0)
	b.ReportAllocs()
	b.ResetTimer()
	done := make(chan struct{})
	for g := range goroutines {
		go func() {
			for n := g; n < b.N; n += goroutines {
				f(n % decisions)
			}
			done <- struct{}{}
		}()
	}
	for range goroutines {
		<-done
	}
}

// BenchmarkServer measures a whole POST /v1/data in OPA's server, without
// decision logging, with a logger that does nothing, and with the plugin as the
// logger: the first step is what OPA itself pays for decision logging, the
// second what the plugin adds. Decisions straight from the server need the
// binary of `regometer build`, which benchtable measures.
func BenchmarkServer(b *testing.B) {
	const body = `{"input":{"user":"alice"}}`
	for _, side := range []struct{ name, config string }{{"none", "{}"}, {"noop", withNoOp}, {"regometer", withPlugin}} {
		b.Run("impl="+side.name, func(b *testing.B) {
			m := newManager(b, side.config)
			s := server.New().WithStore(m.Store).WithManager(m).WithAddresses([]string{"127.0.0.1:0"})
			if logger := logs.Lookup(m); logger != nil {
				s = s.WithDecisionLoggerWithErr(logger.Log)
			}
			s, err := s.Init(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			post := func() {
				r := httptest.NewRequest(http.MethodPost, "/v1/data/rbac/allow", strings.NewReader(body))
				w := httptest.NewRecorder()
				s.Handler.ServeHTTP(w, r)
				if answer, _ := io.ReadAll(w.Body); !bytes.Contains(answer, []byte(`"result":true`)) {
					b.Fatalf("%d %s", w.Code, answer)
				}
			}
			post()
			b.ReportAllocs()
			for b.Loop() {
				post()
			}
		})
	}
}
