// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

	"github.com/regometer/regometer/opa"
	"github.com/regometer/regometer/opa/plugin"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

const policy = `package rbac
default allow := false
allow if input.user in {"alice", "bob"}`

// newManager returns a manager with the policy and a configuration, started.
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
	ofOPA := func(dst []rollup.Number, m opametrics.Metrics) []rollup.Number {
		own, _ := opa.Unwrap(m)
		return numbers(dst, own)
	}
	d, err := discovery.New(m, discovery.Factories(map[string]plugins.Factory{
		plugin.Name: plugin.Factory{Registerer: prometheus.NewRegistry(), Numbers: ofOPA},
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

// BenchmarkLog measures Log alone.
func BenchmarkLog(b *testing.B) {
	var events [decisions]logs.EventV1
	for i, m := range maps() {
		result := any(i%3 != 0)
		events[i] = logs.EventV1{Labels: map[string]string{"id": "bench"}, DecisionID: "1", Path: path, Result: &result, Metrics: m}
	}
	p := newManager(b, withPlugin).Plugin(plugin.Name).(*plugin.Plugin)
	measure(b, "regometer", func(i int) { _ = p.Log(context.Background(), events[i]) })
}

// BenchmarkObserveDecision measures the cost of the plugin for a decision in
// the binary of `regometer build`.
func BenchmarkObserveDecision(b *testing.B) {
	var infos [decisions]*server.Info
	for i, m := range collections() {
		result := any(i%3 != 0)
		infos[i] = &server.Info{DecisionID: "1", Path: path, Results: &result, Metrics: opa.Metrics(m)}
	}
	p := newManager(b, withPlugin).Plugin(plugin.Name).(*plugin.Plugin)
	measure(b, "regometer", func(i int) { p.ObserveDecision(context.Background(), infos[i]) })
	addNumbers(b, "floor", rollup.Options{Bounds: prom.DefaultBounds()})
}

// BenchmarkServer measures a whole POST /v1/data in OPA's server, without
// decision logging, with a logger that does nothing, and with the plugin as the
// logger. The first step is the cost of decision logging in OPA itself, the
// second the plugin's. Decisions straight from the server need the binary of
// `regometer build`, which benchtable measures.
func BenchmarkServer(b *testing.B) {
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
				r := httptest.NewRequest(http.MethodPost, "/v1/data/rbac/allow", strings.NewReader(`{"input":{"user":"alice"}}`))
				w := httptest.NewRecorder()
				s.Handler.ServeHTTP(w, r)
				if !bytes.Contains(w.Body.Bytes(), []byte(`"result":true`)) {
					b.Fatalf("%d %s", w.Code, w.Body)
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
