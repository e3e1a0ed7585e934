// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package stages

import (
	"context"
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
	"github.com/regometer/regometer/opa/plugin/register"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

const policy = `package rbac
default allow := false
allow if input.user in {"alice", "bob"}`

// newPlugin starts a manager with the policy and the plugin.
func newPlugin(b *testing.B) *plugin.Plugin {
	b.Helper()
	policies := bundle.Bundle{
		Data:    map[string]any{},
		Modules: []bundle.ModuleFile{{Path: "/rbac.rego", URL: "/rbac.rego", Raw: []byte(policy), Parsed: ast.MustParseModule(policy)}},
	}
	policies.Manifest.Init()
	const config = `{"decision_logs": {"plugin": "regometer"}, "plugins": {"regometer": {}}}`
	m, err := plugins.New([]byte(config), "bench", inmem.New(),
		plugins.Logger(logging.NewNoOpLogger()), plugins.WithPrometheusRegister(prometheus.NewRegistry()),
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
		plugin.Name: register.Factory("", "", ofOPA, nil),
	}))
	if err != nil {
		b.Fatal(err)
	}
	m.Register(discovery.Name, d)
	if err := m.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Stop(context.Background()) })
	return m.Plugin(plugin.Name).(*plugin.Plugin)
}

// BenchmarkLog measures Log alone.
func BenchmarkLog(b *testing.B) {
	var events [decisions]logs.EventV1
	for i, m := range maps() {
		result := any(i%3 != 0)
		events[i] = logs.EventV1{Labels: map[string]string{"id": "bench"}, DecisionID: "1", Path: path, Result: &result, Metrics: m}
	}
	p := newPlugin(b)
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
	p := newPlugin(b)
	measure(b, "regometer", func(i int) { p.ObserveDecision(context.Background(), infos[i]) })
	addNumbers(b, "floor", rollup.Options{Bounds: prom.DefaultBounds()})
}
