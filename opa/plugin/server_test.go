// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/logging"
	testlog "github.com/open-policy-agent/opa/v1/logging/test"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/discovery"
	"github.com/open-policy-agent/opa/v1/runtime"
	"github.com/open-policy-agent/opa/v1/sdk"
	sdktest "github.com/open-policy-agent/opa/v1/sdk/test"
	"github.com/open-policy-agent/opa/v1/version"

	"github.com/regometer/regometer/opa/plugin"
	_ "github.com/regometer/regometer/opa/plugin/register"
	"github.com/regometer/regometer/prom"
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

// series returns the lines of /metrics as linesOf does.
func (o *opa) series(prefix string) []string {
	o.t.Helper()
	status, text := o.do(http.MethodGet, "/metrics", "")
	if status != http.StatusOK {
		o.t.Fatalf("GET /metrics: %d %s", status, text)
	}
	return linesOf(text, prefix)
}

// linesOf returns the lines of a text that begin with prefix, in order, except
// series that are 0.
func linesOf(text, prefix string) (lines []string) {
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

// logged returns the plugin's messages of a level, one in each line.
func (o *opa) logged(level logging.Level) string {
	var b strings.Builder
	for _, e := range o.logger.Entries() {
		if e.Level == level && e.Fields["plugin"] == plugin.Name {
			fmt.Fprintln(&b, e.Message)
		}
	}
	return b.String()
}

const enabled = `
decision_logs: {plugin: regometer}
plugins: {regometer: {}}
`

func TestServer(t *testing.T) {
	t.Parallel()
	o := startOPA(t, enabled, nil)
	if status, text := o.do("PUT", "/v1/policies/log", `package system.log
drop if input.input.user == "dropped"
mask contains "/result" if input.input.user == "masked"
mask contains 5 if input.input.user == "broken"`); status != http.StatusOK {
		t.Fatal(status, text)
	}
	for _, r := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/v1/data/rbac/allow", `{"input":{"user":"alice"}}`, 200},
		{"POST", "/v1/data/rbac/allow", `{"input":{"user":"bob"}}`, 200},
		{"GET", "/v1/data/rbac/%61llow", "", 200},
		{"POST", "/v1/data/rbac/decision", `{"input":{"user":"alice"}}`, 200},
		{"POST", "/v1/data/rbac/on_call/bob", `{"input":{"user":"bob","on_call":true}}`, 200},
		{"GET", "/v1/data/rbac", "", 200},
		{"GET", "/v1/data", "", 200},
		{"POST", "/v1/data/no/such/path", "{}", 200},
		{"POST", "/v1/data/invented/by/a/client", "{}", 200},
		{"POST", "/v1/data/rbac/broken?strict-builtin-errors", `{"input":{"x":1}}`, 500},
		{"POST", "/v1/query", `{"query":"x = data.rbac.allow"}`, 200},
		{"POST", "/v1/query", `{"query":"data.rbac.nothing = 1"}`, 200},
		{"POST", "/", `{"user":"alice"}`, 200},
		{"POST", "/v0/data/rbac/nothing", `{}`, 404},
		{"POST", "/v1/data/rbac/allow", `{"inp`, 400},
		{"POST", "/v1/data/rbac/allow", `{"input":{"user":"dropped"}}`, 200},
		{"POST", "/v1/data/rbac/allow", `{"input":{"user":"broken"}}`, 200},
		{"POST", "/v1/data/rbac/allow", `{"input":{"user":"masked"}}`, 200},
	} {
		if status, text := o.do(r.method, r.path, r.body); status != r.status {
			t.Errorf("%s %s: %d %s", r.method, r.path, status, text)
		}
	}
	o.check("opa_decisions_total{",
		`opa_decisions_total{outcome="allowed",path="rbac/allow"} 1`,
		`opa_decisions_total{outcome="denied",path="rbac/allow"} 2`,
		`opa_decisions_total{outcome="result",path="rbac/allow"} 1`,
		`opa_decisions_total{outcome="allowed",path="rbac/decision"} 1`,
		`opa_decisions_total{outcome="result",path="rbac/on_call"} 1`,
		`opa_decisions_total{outcome="denied",path="rbac"} 1`,
		`opa_decisions_total{outcome="result",path="(data)"} 1`,
		`opa_decisions_total{outcome="undefined",path="other"} 3`,
		`opa_decisions_total{outcome="error",path="rbac/broken"} 1`,
		`opa_decisions_total{outcome="result",path="(query)"} 1`,
		`opa_decisions_total{outcome="undefined",path="(query)"} 1`,
		`opa_decisions_total{outcome="allowed",path="system/main"} 1`,
	)
	o.check(`opa_decision_path_duration_seconds_count{path="rbac/allow",stage="rego_query_eval"}`,
		`opa_decision_path_duration_seconds_count{path="rbac/allow",stage="rego_query_eval"} 4`)
	o.check(`opa_decision_stage_duration_seconds_count{stage="rego_query_eval"}`,
		`opa_decision_stage_duration_seconds_count{stage="rego_query_eval"} 15`)
	o.check(`opa_decision_stage_unfinished_total{cause="query",stage="server_handler"}`,
		`opa_decision_stage_unfinished_total{cause="query",stage="server_handler"} 2`)
	o.check(`opa_decision_errors_total`, `opa_decision_errors_total{code="eval_builtin_error"} 1`)
	o.check(`opa_decision_received_total`, `opa_decision_received_total{source="decision_log"} 15`)
	o.check(`opa_decision_policy_paths`, `opa_decision_policy_paths{label="own"} 7`)
	if lines := o.series("regometer_build_info"); len(lines) != 1 || !strings.Contains(lines[0], `opa_version="`+version.Version+`"`) {
		t.Errorf("the build information is %s, want OPA's version", lines)
	}
	if status, text := o.do("GET", "/health?plugins", ""); status != 200 {
		t.Errorf("health: %d %s", status, text)
	}
	if text := o.logged(logging.Warn); text != "" {
		t.Errorf("the plugin warns:\n%s", text)
	}
	if lines := o.series("opa_decision_plugin_failures_total"); len(lines) != 0 {
		t.Errorf("there are failures: %s", lines)
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
	want := 0
	ask := func() {
		o.do("GET", "/v1/data/rbac/allow", "")
		want++
	}
	restarts := 0
	change := func(config string) {
		t.Helper()
		write(t, o.config+".new", config)
		if err := os.Rename(o.config+".new", o.config); err != nil { // so that OPA never reads half of it
			t.Fatal(err)
		}
		restarts++
		eventually(t, "restarted", func() bool {
			return o.starts() == 1+restarts && len(o.Addrs()) > 0 && o.answers()
		})
	}
	denied := func(name string) {
		t.Helper()
		o.check(name+"_decisions_total{", fmt.Sprintf(`%s_decisions_total{outcome="denied",path="rbac/allow"} %d`, name, want))
	}
	ask()
	denied("opa")
	change(enabled + "labels: {a: b}\n")
	denied("opa")
	ask()
	denied("opa")
	change(strings.Replace(enabled, "{}", "{max_paths: 60, max_series: 4000}", 1))
	ask()
	denied("opa")
	change(strings.Replace(enabled, "{}", "{namespace: policy}", 1))
	ask()
	denied("policy")
	o.check("opa_decisions_total{")
	change("{}") // without the plugin
	o.check("opa_decisions_total{")
	o.check("policy_decisions_total{")
	change(enabled)
	ask()
	denied("opa")
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

// A decision is cancelled if the client leaves.
func TestServerCancelled(t *testing.T) {
	t.Parallel()
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Second):
		}
	}))
	t.Cleanup(slow.Close)
	o := startOPA(t, enabled, nil)
	status, text := o.do("PUT", "/v1/policies/slow", `package slow
call := http.send({"method": "GET", "url": "`+slow.URL+`"})
spin if {
	some i in numbers.range(1, 100000)
	some j in numbers.range(1, 100000)
	i * j < 0
}`)
	if status != http.StatusOK {
		t.Fatal(status, text)
	}
	for _, path := range []string{"slow/call", "slow/spin"} {
		ctx, cancel := context.WithCancel(t.Context())
		sent := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			WroteRequest: func(httptrace.WroteRequestInfo) { time.AfterFunc(100*time.Millisecond, cancel) },
		})
		r, err := http.NewRequestWithContext(sent, http.MethodPost, o.url+"/v1/data/"+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if response, err := http.DefaultClient.Do(r); err == nil {
			t.Errorf("%s: %s", path, response.Status)
			response.Body.Close()
		}
		cancel()
	}
	eventually(t, "both cancelled", func() bool { return len(o.series(`opa_decisions_total{outcome="cancelled"`)) == 2 })
	o.check("opa_decisions_total{",
		`opa_decisions_total{outcome="cancelled",path="slow/call"} 1`,
		`opa_decisions_total{outcome="cancelled",path="slow/spin"} 1`)
	o.check("opa_decision_errors_total")
	if lines := o.series(`opa_decision_stage_unfinished_total{cause="unknown"`); len(lines) != 0 {
		t.Errorf("timers are unfinished for unknown causes: %s", lines)
	}
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
	warnings, decisions := 0, 0
	for i, step := range []struct {
		config    string
		namespace string // of the metrics, "" if the plugin gets no decision
		refused   bool
		warned    bool
	}{
		{fmt.Sprintf(with, "{}"), "opa", false, false},
		{fmt.Sprintf(with, `{"namespace": "policy", "max_paths": 40}`), "policy", false, false},
		{fmt.Sprintf(with, `{"max_path": 40}`), "policy", true, false},
		{fmt.Sprintf(without, "b"), "", false, true},
		{fmt.Sprintf(without, "c"), "", false, false},
		{fmt.Sprintf(with, `{}`), "opa", false, false},
		{fmt.Sprintf(without, "d"), "", false, true},
	} {
		serve(step.config)
		if err := discovery.Lookup(o.Manager).Trigger(t.Context()); err != nil && !step.refused {
			t.Fatal(err)
		}
		if step.warned {
			warnings++
		}
		eventually(t, "as often warned as expected", func() bool { return strings.Count(o.logged(logging.Warn), warning) == warnings })
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

// The configuration in examples/operate shows the defaults.
func TestExampleConfiguration(t *testing.T) {
	t.Parallel()
	config, err := os.ReadFile("../../examples/operate/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o := startOPA(t, string(config)+"\ndecision_logs: {plugin: regometer}\n", nil) // unmodified OPA
	o.do("GET", "/v1/data/rbac/allow", "")
	o.check("opa_decisions_total{", `opa_decisions_total{outcome="denied",path="rbac/allow"} 1`)
	_, text := o.do("GET", "/metrics", "")
	buckets := strings.Count(text, `opa_decision_path_duration_seconds_bucket{path="rbac/allow",stage="server_handler"`)
	if want := prom.DefaultBounds().Len() + 1; buckets != want {
		t.Errorf("there are %d classic buckets, want %d", buckets, want)
	}
}

// The plugin works in programs that embed OPA by its SDK, which has no
// registry.
func TestSDK(t *testing.T) {
	t.Parallel()
	bundles := sdktest.MustNewServer(sdktest.MockBundle("/bundles/b.tar.gz", map[string]string{"policy.rego": policy}))
	defer bundles.Stop()
	config := `{"services": {"s": {"url": "` + bundles.URL() + `"}}, "bundles": {"b": {"resource": "/bundles/b.tar.gz"}},
		"decision_logs": {"plugin": "regometer", "service": ""}, "plugins": {"regometer": {}}}`
	registry := prometheus.NewRegistry()
	logger := testlog.New()
	o, err := sdk.New(t.Context(), sdk.Options{
		ID: "test", Config: strings.NewReader(config), Logger: logger,
		Plugins: map[string]plugins.Factory{plugin.Name: plugin.Factory{Registerer: registry}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []struct {
		path, user string
		undefined  bool
	}{
		{"/rbac/allow", "alice", false},
		{"rbac/allow", "bob", false},
		{"/rbac/nothing", "bob", true},
		{"", "alice", true}, // the default decision, which this policy lacks
	} {
		_, err := o.Decision(t.Context(), sdk.DecisionOptions{Path: d.path, Input: map[string]any{"user": d.user}})
		if d.undefined != sdk.IsUndefinedErr(err) || !d.undefined && err != nil {
			t.Errorf("%+v: %v", d, err)
		}
	}
	series := func(prefix string) []string {
		answer := httptest.NewRecorder()
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
		return linesOf(answer.Body.String(), prefix)
	}
	check := func() {
		t.Helper()
		want := []string{`opa_decisions_total{outcome="allowed",path="rbac/allow"} 1`,
			`opa_decisions_total{outcome="denied",path="rbac/allow"} 1`, `opa_decisions_total{outcome="undefined",path="other"} 2`}
		if got := series("opa_decisions_total{"); !slices.Equal(got, want) {
			t.Errorf("the counts are %q, want %q", got, want)
		}
	}
	check()
	if len(series("opa_decision_stage_duration_seconds_count{")) == 0 {
		t.Error("there are no histograms")
	}
	// A new configuration makes a new manager and a new plugin.
	err = o.Configure(t.Context(), sdk.ConfigOptions{Config: strings.NewReader(strings.Replace(config, `{}`, `{"max_paths": 20}`, 1))})
	if err != nil {
		t.Fatal(err)
	}
	check()
	o.Stop(t.Context())
	eventually(t, "unregistered", func() bool { return len(series("opa_decisions_total{")) == 0 })
}
