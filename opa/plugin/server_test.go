// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/logging"
	testlog "github.com/open-policy-agent/opa/v1/logging/test"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/discovery"
	"github.com/open-policy-agent/opa/v1/runtime"
	"github.com/open-policy-agent/opa/v1/version"

	"github.com/regometer/regometer/opa/plugin"
	_ "github.com/regometer/regometer/opa/plugin/register"
)

// opa is an OPA server within the test.
type opa struct {
	*runtime.Runtime
	t      *testing.T
	url    string
	config string // the configuration file
	logger *testlog.Logger
}

const policy = `package rbac
default allow := false
allow if input.user == "alice"
decision := {"allow": allow}
on_call contains input.user if input.on_call
broken := 1 if input.x / 0 == 1`

// startOPA starts a server with this configuration and the policy. It stops the
// server at the end of the test.
func startOPA(t *testing.T, config string, change func(*runtime.Params)) *opa {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "policy.rego"), policy)
	write(t, filepath.Join(dir, "main.rego"), "package system\nmain := data.rbac.allow")
	o := &opa{t: t, config: filepath.Join(dir, "config.yaml"), logger: testlog.New()}
	write(t, o.config, config)
	params := runtime.NewParams()
	params.Addrs = &[]string{"127.0.0.1:0"}
	params.ConfigFile = o.config
	params.Paths = []string{filepath.Join(dir, "policy.rego"), filepath.Join(dir, "main.rego")}
	params.Logger = o.logger
	params.ConsoleLogger = testlog.New()
	params.GracefulShutdownPeriod = 1
	params.Output = io.Discard
	if change != nil {
		change(&params)
	}
	rt, err := runtime.NewRuntime(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	o.Runtime = rt
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- o.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-o.Manager.ServerInitializedChannel():
	case err := <-ended:
		ended <- err
		t.Fatal("the server ended")
	}
	eventually(t, "listening", func() bool { return len(o.Addrs()) > 0 })
	o.url = "http://" + o.Addrs()[0]
	return o
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("after 20 s it is not %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// do sends a request and returns the answer's status and body.
func (o *opa) do(method, path, body string) (int, string) {
	o.t.Helper()
	r, err := http.NewRequestWithContext(o.t.Context(), method, o.url+path, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// series returns the lines of /metrics that begin with prefix, in order, except
// series that are 0.
func (o *opa) series(prefix string) (lines []string) {
	o.t.Helper()
	status, text := o.do(http.MethodGet, "/metrics", "")
	if status != http.StatusOK {
		o.t.Fatalf("GET /metrics: %d %s", status, text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, prefix) && !strings.HasSuffix(line, " 0") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

func (o *opa) check(prefix string, want ...string) {
	o.t.Helper()
	got := o.series(prefix)
	if slices.Sort(want); !slices.Equal(got, want) {
		o.t.Errorf("/metrics has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const enabled = `
decision_logs: {plugin: regometer}
plugins: {regometer: {}}
`

// TestServer: what an OPA server answers has these outcomes, by the usual
// rules, by rules in the configuration, and for calls that time out. Only
// errors that not any client can cause count as errors.
func TestServer(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connects, and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	send := fmt.Sprintf(`http.send({"method": "GET", "url": "http://%s", "timeout": "20ms"})`, silent.Addr())
	o := startOPA(t, `
decision_logs: {plugin: regometer}
plugins:
  regometer:
    outcomes:
      app/main: result.granted
      app/quota: not result.reasons
      "tenants/*/check": result.effect == "permit"
`, nil)
	for name, text := range map[string]string{
		"log": `package system.log
drop if input.input.user == "dropped"
mask contains "/result" if input.input.user == "masked"
mask contains 5 if input.input.user == "broken"`,
		"check": "package tenants.acme.check\neffect := input.effect",
		"app": `package app
deny contains "no user" if not input.user
authzen := {"decision": data.rbac.allow, "context": {"id": "1"}}
main := {"granted": data.rbac.allow}
quota := {"reasons": [r | some r in input.reasons]}
review := {"apiVersion": "admission.k8s.io/v1", "response": {"allowed": data.rbac.allow}}
conflict := 1 if input.user
conflict := 2 if input.user
called if ` + send + `.status_code == 200
default guarded := false
guarded if ` + send + `.status_code == 200
function(x) := x`,
	} {
		if status, text := o.do("PUT", "/v1/policies/"+name, text); status != http.StatusOK {
			t.Fatal(status, text)
		}
	}
	unparsable := "undefined"
	errors := []string{`opa_decision_errors_total{code="eval_builtin_error"} 2`, `opa_decision_errors_total{code="eval_conflict_error"} 1`}
	if strings.HasPrefix(version.Version, "1.0.") { // its code is that of an invalid policy
		unparsable, errors = "error", append(errors, `opa_decision_errors_total{code="rego_parse_error"} 1`)
	}
	counted, decisions := map[string]int{}, 0
	for _, r := range []struct {
		request, body string
		status        int
		counted       string // the outcome and the label, or "" for no decision
	}{
		{"POST /v1/data/rbac/allow", `{"input":{"user":"alice"}}`, 200, "allowed rbac/allow"},
		{"POST /v1/data/rbac/allow", `{"input":{"user":"bob"}}`, 200, "denied rbac/allow"},
		{"GET /v1/data/rbac/%61llow", "", 200, "denied rbac/allow"},
		{"POST /v1/data/rbac/allow", `{"inp`, 400, ""},
		{"POST /v1/data/rbac/allow", `{"input":{"user":"dropped"}}`, 200, ""},
		{"POST /v1/data/rbac/allow", `{"input":{"user":"broken"}}`, 200, ""},
		{"POST /v1/data/rbac/allow", `{"input":{"user":"masked"}}`, 200, "result rbac/allow"},
		{"POST /v1/data/rbac/allow/x", `{"input":{"user":"alice"}}`, 500, "undefined rbac/allow"},
		{"POST /v1/data/rbac/allow/%22", `{"input":{"user":"alice"}}`, 500, unparsable + " rbac/allow"},
		{"POST /v1/data/rbac/decision", `{"input":{"user":"alice"}}`, 200, "allowed rbac/decision"},
		{"POST /v1/data/rbac/on_call/bob", `{"input":{"user":"bob","on_call":true}}`, 200, "result rbac/on_call"},
		{"POST /v1/data/rbac/broken?strict-builtin-errors", `{"input":{"x":1}}`, 500, "error rbac/broken"},
		{"POST /v0/data/rbac/nothing", `{}`, 404, "undefined other"},
		{"GET /v1/data/rbac", "", 200, "denied rbac"},
		{"GET /v1/data", "", 200, "result (data)"},
		{"POST /v1/data/no/such/path", "{}", 200, "undefined other"},
		{"POST /v1/query", `{"query":"x = data.rbac.allow"}`, 200, "result (query)"},
		{"POST /v1/query", `{"query":"data.rbac.nothing = 1"}`, 200, "undefined (query)"},
		{"POST /", `{"user":"alice"}`, 200, "allowed system/main"},
		{"POST /v1/data/app/deny", `{"input":{"user":"alice"}}`, 200, "allowed app/deny"},
		{"POST /v1/data/app/deny", `{"input":{}}`, 200, "denied app/deny"},
		{"POST /v1/data/app/authzen", `{"input":{"user":"alice"}}`, 200, "allowed app/authzen"},
		{"POST /v1/data/app/review", `{"input":{"user":"bob"}}`, 200, "denied app/review"},
		{"POST /v1/data/app/main", `{"input":{"user":"alice"}}`, 200, "allowed app/main"},
		{"POST /v1/data/app/main", `{"input":{"user":"bob"}}`, 200, "denied app/main"},
		{"POST /v1/data/app/main/else/0", `{"input":{"user":"alice"}}`, 500, "undefined app/main"},
		{"POST /v1/data/app/quota", `{"input":{"reasons":[]}}`, 200, "allowed app/quota"},
		{"POST /v1/data/app/quota", `{"input":{"reasons":["x"]}}`, 200, "denied app/quota"},
		{"POST /v1/data/tenants/acme/check", `{"input":{"effect":"permit"}}`, 200, "allowed tenants/acme/check"},
		{"POST /v1/data/tenants/acme/check", `{"input":{"effect":"forbid"}}`, 200, "denied tenants/acme/check"},
		{"POST /v1/data/tenants/acme/check", `{"input":{}}`, 200, "result tenants/acme/check"},
		{"POST /v1/data/app/called", `{"input":{}}`, 200, "undefined app/called"},
		{"POST /v1/data/app/called?strict-builtin-errors", `{"input":{}}`, 500, "error app/called"},
		{"POST /v1/data/app/guarded", `{"input":{}}`, 200, "denied app/guarded"},
		{"POST /v1/data/app/conflict", `{"input":{"user":"alice"}}`, 500, "error app/conflict"},
		{"POST /v1/data/app/function", `{"input":{}}`, 500, "undefined other"},
	} {
		method, path, _ := strings.Cut(r.request, " ")
		if status, text := o.do(method, path, r.body); status != r.status {
			t.Errorf("%s: %d %s, want %d", r.request, status, text, r.status)
		}
		if r.counted != "" {
			counted[r.counted]++
			decisions++
		}
	}
	var want []string
	for name, n := range counted {
		outcome, path, _ := strings.Cut(name, " ")
		want = append(want, fmt.Sprintf("opa_decisions_total{outcome=%q,path=%q} %d", outcome, path, n))
	}
	o.check("opa_decisions_total{", want...)
	o.check(`opa_decision_path_duration_seconds_count{path="rbac/allow",stage="rego_query_eval"}`,
		`opa_decision_path_duration_seconds_count{path="rbac/allow",stage="rego_query_eval"} 4`)
	o.check(`opa_decision_stage_unfinished_total{cause="query",stage="server_handler"}`,
		`opa_decision_stage_unfinished_total{cause="query",stage="server_handler"} 2`)
	o.check(`opa_decision_errors_total`, errors...)
	o.check(`opa_decision_received_total`, fmt.Sprintf(`opa_decision_received_total{source="decision_log"} %d`, decisions))
	o.check(`opa_decision_policy_paths`, `opa_decision_policy_paths{label="own"} 16`)
	o.check("opa_decision_plugin_failures_total")
	if len(o.series(`opa_decision_http_send_failures_total{cause="timeout"}`)) == 0 { // package register counts them
		t.Error("no request of http.send has timed out")
	}
	if lines := o.series(`opa_decision_path_duration_seconds_bucket{path="rbac/allow",stage="server_handler"`); len(lines) < 2 {
		t.Errorf("the default has no classic buckets: %q", lines)
	}
	if text := plugin.Logged(o.logger, logging.Warn); text != "" {
		t.Errorf("the plugin warns:\n%s", text)
	}
}

// watchConfig makes OPA follow changes of its configuration file; OPA 1.0
// cannot.
func watchConfig(p *runtime.Params) bool {
	field := reflect.ValueOf(p).Elem().FieldByName("WatchConfig")
	if field.IsValid() {
		field.SetBool(true)
	}
	return field.IsValid()
}

// A new configuration file makes a new plugin on the same registry. No count is
// lost, and no metric is registered twice.
func TestServerWatchConfig(t *testing.T) {
	t.Parallel()
	if !watchConfig(&runtime.Params{}) {
		t.Skip("this OPA does not watch its configuration file")
	}
	o := startOPA(t, enabled, func(p *runtime.Params) {
		watchConfig(p)
		p.Logger.SetLevel(logging.Debug) // for starts
	})
	asked := 0
	for i, step := range []struct{ config, namespace string }{
		{enabled, "opa"},
		{enabled + "labels: {a: b}\n", "opa"},
		{strings.Replace(enabled, "{}", "{max_paths: 60, max_series: 4000}", 1), "opa"},
		{strings.Replace(enabled, "{}", "{namespace: policy}", 1), "policy"},
		{"{}", ""}, // without the plugin
		{enabled, "opa"},
	} {
		if i > 0 {
			write(t, o.config+".new", step.config)
			if err := os.Rename(o.config+".new", o.config); err != nil { // so that OPA never reads half of it
				t.Fatal(err)
			}
			eventually(t, "restarted", func() bool { return o.starts() == 1+i && len(o.Addrs()) > 0 && o.answers() })
		}
		t.Logf("step %d", i)
		if step.namespace != "" {
			o.do("GET", "/v1/data/rbac/allow", "")
			asked++
		}
		for _, namespace := range []string{"opa", "policy"} {
			var want []string
			if namespace == step.namespace {
				want = append(want, fmt.Sprintf(`%s_decisions_total{outcome="denied",path="rbac/allow"} %d`, namespace, asked))
			}
			o.check(namespace+"_decisions_total{", want...)
		}
	}
}

// starts returns how often the server has started.
func (o *opa) starts() (n int) {
	for _, e := range o.logger.Entries() {
		if e.Message == "Server initialized." {
			n++
		}
	}
	return n
}

// answers reports whether the server answers. Its address may have changed.
func (o *opa) answers() bool {
	o.url = "http://" + o.Addrs()[0]
	response, err := http.Get(o.url + "/health?plugins")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// Discovery brings the plugin and changes its configuration in place. It
// refuses an invalid configuration, and the plugin keeps the one before. The
// plugin warns if a configuration takes the decisions away from it.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	var current atomic.Pointer[[]byte]
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(*current.Load())
	}))
	defer service.Close()
	serve := func(config string) {
		t.Helper()
		var b bundle.Bundle
		if err := json.Unmarshal([]byte(config), &b.Data); err != nil {
			t.Fatal(err)
		}
		b.Manifest.Init()
		var out bytes.Buffer
		if err := bundle.NewWriter(&out).Write(b); err != nil {
			t.Fatal(err)
		}
		text := out.Bytes()
		current.Store(&text)
	}
	const with, without = `{"decision_logs": {"plugin": "regometer"}, "plugins": {"regometer": %s}}`, `{"labels": {"a": "%s"}}`
	serve(fmt.Sprintf(with, "{}"))
	o := startOPA(t, `
services: {s: {url: '`+service.URL+`'}}
discovery: {resource: /discovery, trigger: manual}`, nil)
	const warning = "The plugin sees no decisions, because decision_logs.plugin does not name it."
	decisions := 0
	for i, step := range []struct {
		config    string
		namespace string // of the metrics, "" if the plugin gets no decision
		warnings  int    // up to this step
	}{
		{fmt.Sprintf(with, "{}"), "opa", 0},
		{fmt.Sprintf(with, `{"namespace": "policy", "max_paths": 40}`), "policy", 0},
		{fmt.Sprintf(with, `{"max_path": 40}`), "policy", 0}, // refused
		{fmt.Sprintf(without, "b"), "", 1},
		{fmt.Sprintf(without, "c"), "", 1},
		{fmt.Sprintf(with, `{}`), "opa", 1},
		{fmt.Sprintf(without, "d"), "", 2},
	} {
		serve(step.config)
		_ = discovery.Lookup(o.Manager).Trigger(t.Context()) // fails if the configuration is refused
		eventually(t, "as often warned as expected", func() bool { return strings.Count(plugin.Logged(o.logger, logging.Warn), warning) == step.warnings })
		if step.namespace == "" {
			continue
		}
		o.do("GET", "/v1/data/rbac/allow", "")
		decisions++
		t.Logf("step %d", i)
		o.check(step.namespace+"_decisions_total{",
			fmt.Sprintf(`%s_decisions_total{outcome="denied",path="rbac/allow"} %d`, step.namespace, decisions))
		if s := o.Manager.PluginStatus()[plugin.Name]; s.State != plugins.StateOK {
			t.Errorf("step %d: the status is %v, want OK", i, s)
		}
	}
	if !slices.ContainsFunc(o.logger.Entries(), func(e testlog.LogEntry) bool {
		return strings.Contains(e.Message, `plugins.regometer: unknown key "max_path"`)
	}) {
		t.Error("OPA does not report the invalid configuration")
	}
}
