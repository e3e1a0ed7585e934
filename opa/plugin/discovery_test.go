// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/discovery"

	"github.com/regometer/regometer/opa/plugin"
)

// discovered returns a discovery bundle with this configuration of the plugin.
func discovered(t *testing.T, config map[string]any) []byte {
	t.Helper()
	b := bundle.Bundle{Data: map[string]any{
		"decision_logs": map[string]any{"plugin": plugin.Name},
		"plugins":       map[string]any{plugin.Name: config},
	}}
	b.Manifest.Init()
	var out bytes.Buffer
	if err := bundle.NewWriter(&out).Write(b); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Discovery brings the plugin, changes its configuration in place, and
// refuses a wrong one while the one before goes on.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	var current atomic.Pointer[[]byte]
	serve := func(config map[string]any) {
		b := discovered(t, config)
		current.Store(&b)
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(*current.Load())
	}))
	defer service.Close()
	serve(map[string]any{})
	o := startOPA(t, `
services: {s: {url: '`+service.URL+`'}}
discovery: {resource: /discovery, trigger: manual}`, nil)
	trigger := func() {
		t.Helper()
		if err := discovery.Lookup(o.Manager).Trigger(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ask := func() { o.do("GET", "/v1/data/rbac/allow", "") }
	trigger()
	ask()
	o.check("opa_decisions_total{", `opa_decisions_total{outcome="denied",path="rbac/allow"} 1`)

	serve(map[string]any{"namespace": "policy", "max_paths": 40})
	trigger()
	ask()
	o.check("opa_decisions_total{")
	o.check("policy_decisions_total{", `policy_decisions_total{outcome="denied",path="rbac/allow"} 2`)

	serve(map[string]any{"max_path": 40})
	_ = discovery.Lookup(o.Manager).Trigger(t.Context())
	ask()
	o.check("policy_decisions_total{", `policy_decisions_total{outcome="denied",path="rbac/allow"} 3`)
	if s := o.Manager.PluginStatus()[plugin.Name]; s.State != plugins.StateOK {
		t.Errorf("status %v", s)
	}
	found := false
	for _, e := range o.logger.Entries() {
		found = found || strings.Contains(e.Message, `plugins.regometer: unknown key "max_path"`)
	}
	if !found {
		t.Error("the wrong configuration was not reported")
	}
}

// A discovered configuration that takes the decisions away from the plugin is
// warned of, once.
func TestDiscoveryTakesDecisionsAway(t *testing.T) {
	t.Parallel()
	var current atomic.Pointer[[]byte]
	serve := func(config string) {
		var data map[string]any
		if err := json.Unmarshal([]byte(config), &data); err != nil {
			t.Fatal(err)
		}
		b := bundle.Bundle{Data: data}
		b.Manifest.Init()
		var out bytes.Buffer
		if err := bundle.NewWriter(&out).Write(b); err != nil {
			t.Fatal(err)
		}
		text := out.Bytes()
		current.Store(&text)
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(*current.Load())
	}))
	defer service.Close()
	const with = `{"decision_logs": {"plugin": "regometer"}, "plugins": {"regometer": {}}}`
	serve(with)
	o := startOPA(t, `
services: {s: {url: '`+service.URL+`'}}
discovery: {resource: /discovery, trigger: manual}`, nil)
	trigger := func(config string) {
		t.Helper()
		serve(config)
		if err := discovery.Lookup(o.Manager).Trigger(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	trigger(with)
	if text := o.logged(logging.Warn); text != "" {
		t.Errorf("it warns:\n%s", text)
	}
	const warning = "The plugin sees no decisions, because decision_logs.plugin does not name it."
	trigger(`{"decision_logs": {"console": true}, "labels": {"a": "b"}}`)
	eventually(t, "warned of", func() bool { return strings.Count(o.logged(logging.Warn), warning) == 1 })
	trigger(`{"decision_logs": {"console": true}, "labels": {"a": "c"}}`)
	trigger(with)
	trigger(`{"decision_logs": {"console": true}, "labels": {"a": "d"}}`)
	eventually(t, "warned of again", func() bool { return strings.Count(o.logged(logging.Warn), warning) == 2 })
}

// The plugin's configuration in examples/operate is one that OPA takes.
func TestExampleConfiguration(t *testing.T) {
	t.Parallel()
	o := startOPA(t, readFile(t, "../../examples/operate/config.yaml")+"\ndecision_logs: {plugin: regometer}\n", nil) // unmodified OPA
	o.do("GET", "/v1/data/rbac/allow", "")
	o.do("GET", "/v1/data/users", "")
	o.do("GET", "/v1/data/users/alice", "")
	o.do("GET", "/v1/data/tenants/acme/roles/3", "")
	o.check("opa_decisions_total{",
		`opa_decisions_total{outcome="denied",path="rbac/allow"} 1`,
		`opa_decisions_total{outcome="undefined",path="users"} 1`,
		`opa_decisions_total{outcome="undefined",path="other"} 1`,
		`opa_decisions_total{outcome="undefined",path="tenants/*/roles"} 1`)
	if got := len(o.series(`opa_decision_path_duration_seconds_bucket{path="rbac/allow",stage="server_handler"`)); got == 0 || got > 6 {
		t.Errorf("%d classic buckets, want those of the example", got)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
