// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opa_test

import (
	"net"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/regometer/regometer/opa/plugin"
)

// TestCountHTTPSend: a program that imports the plugin, and not its package
// register, keeps OPA's http.send and has no series of its failures. After
// CountHTTPSend, each failure counts once.
func TestCountHTTPSend(t *testing.T) {
	manager, err := plugins.New([]byte(`{"plugins": {"regometer": {}}}`), "test", inmem.New())
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	factory := plugin.Factory{Registerer: registry}
	config, err := factory.Validate(manager, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := factory.New(manager, config)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer p.Stop(t.Context())
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	// fail returns the series of failures after a request has failed, and the
	// number of all series by the metric of them.
	fail := func() (series int, failures, all float64) {
		query := `http.send({"method": "GET", "url": "http://` + closed.Addr().String() + `", "raise_error": false})`
		if _, err := rego.New(rego.Query(query)).Eval(t.Context()); err != nil {
			t.Fatal(err)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				switch f.GetName() {
				case "opa_decision_http_send_failures_total":
					series++
					failures += m.GetCounter().GetValue()
				case "opa_decision_metric_series":
					all = m.GetGauge().GetValue()
				}
			}
		}
		return series, failures, all
	}
	series, _, before := fail()
	name := runtime.FuncForPC(reflect.ValueOf(topdown.GetBuiltin(ast.HTTPSend.Name)).Pointer()).Name()
	if series != 0 || !strings.HasPrefix(name, "github.com/open-policy-agent/opa/") {
		t.Errorf("an import replaces http.send by %s, and exports %d series", name, series)
	}
	plugin.CountHTTPSend()
	plugin.CountHTTPSend()
	if series, failures, after := fail(); series != 4 || failures != 1 || after != before+4 {
		t.Errorf("%d series have %v failures of one, and there are %v series after %v", series, failures, after, before)
	}
}
