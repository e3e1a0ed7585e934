// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/logging"
	testlog "github.com/open-policy-agent/opa/v1/logging/test"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
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

// newRuntime prepares a server with a configuration and the policy.
func newRuntime(t *testing.T, config string, change func(*runtime.Params)) (*opa, error) {
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
	o.Runtime = rt
	return o, err
}

// startOPA starts a server and stops it at the end of the test.
func startOPA(t *testing.T, config string, change func(*runtime.Params)) *opa {
	t.Helper()
	o, err := newRuntime(t, config, change)
	if err != nil {
		t.Fatal(err)
	}
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
			t.Fatalf("not %s after 20 s", what)
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

// series returns the lines of /metrics that begin so, without what is 0.
func (o *opa) series(prefix string) []string {
	o.t.Helper()
	status, text := o.do(http.MethodGet, "/metrics", "")
	if status != http.StatusOK {
		o.t.Fatalf("GET /metrics: %d %s", status, text)
	}
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, prefix) && !strings.HasSuffix(line, " 0") {
			lines = append(lines, line)
		}
	}
	return lines
}

func (o *opa) check(prefix string, want ...string) {
	o.t.Helper()
	got := o.series(prefix)
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		o.t.Errorf("/metrics has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// logged returns what the plugin logged at a level.
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
	} {
		if status, text := o.do(r.method, r.path, r.body); status != r.status {
			t.Errorf("%s %s: %d %s", r.method, r.path, status, text)
		}
	}
	o.check("opa_decisions_total{",
		`opa_decisions_total{outcome="allowed",path="rbac/allow"} 1`,
		`opa_decisions_total{outcome="denied",path="rbac/allow"} 2`,
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
		`opa_decision_path_duration_seconds_count{path="rbac/allow",stage="rego_query_eval"} 3`)
	o.check(`opa_decision_stage_duration_seconds_count{stage="rego_query_eval"}`,
		`opa_decision_stage_duration_seconds_count{stage="rego_query_eval"} 14`)
	o.check(`opa_decision_stage_unfinished_total{cause="query",stage="server_handler"}`,
		`opa_decision_stage_unfinished_total{cause="query",stage="server_handler"} 2`)
	o.check(`opa_decision_errors_total`, `opa_decision_errors_total{code="eval_builtin_error"} 1`)
	o.check(`opa_decision_received_total`, `opa_decision_received_total{source="decision_log"} 14`)
	o.check(`opa_decision_policy_paths`, `opa_decision_policy_paths{label="own"} 5`)
	if lines := o.series("regometer_build_info"); len(lines) != 1 || !strings.Contains(lines[0], `opa_version="`+version.Version+`"`) {
		t.Errorf("build info: %s", lines)
	}
	if status, text := o.do("GET", "/health?plugins", ""); status != 200 {
		t.Errorf("health: %d %s", status, text)
	}
	if text := o.logged(logging.Warn); text != "" {
		t.Errorf("it warns:\n%s", text)
	}
	if lines := o.series("opa_decision_plugin_failures_total"); len(lines) != 0 {
		t.Errorf("failures: %s", lines)
	}
}

// A policy that comes later makes its paths known.
func TestServerNewPolicy(t *testing.T) {
	t.Parallel()
	o := startOPA(t, enabled, nil)
	ask := func() { o.do("GET", "/v1/data/later/allow", "") }
	ask()
	if status, text := o.do("PUT", "/v1/policies/later", "package later\nallow := true"); status != 200 {
		t.Fatal(status, text)
	}
	ask()
	if status, text := o.do("DELETE", "/v1/policies/later", ""); status != 200 {
		t.Fatal(status, text)
	}
	ask()
	o.check("opa_decisions_total{",
		`opa_decisions_total{outcome="undefined",path="other"} 2`,
		`opa_decisions_total{outcome="allowed",path="later/allow"} 1`)
}

// That paths share a label is logged once for each policy.
func TestServerTellsOfSharedLabels(t *testing.T) {
	t.Parallel()
	o := startOPA(t, "decision_logs: {plugin: regometer}\nplugins: {regometer: {max_paths: 4}}", nil)
	const text = "Of 5 paths of the policy, 4 have a label of their own, 0 share that of a package, and 1 are \"other\": such as rbac/allow. Raise max_paths"
	told := func() int { return strings.Count(o.logged(logging.Info), text) }
	if n := told(); n != 1 {
		t.Errorf("told %d times:\n%s", n, o.logged(logging.Info))
	}
	put := func(policy string) {
		t.Helper()
		if status, answer := o.do("PUT", "/v1/policies/more", policy); status != 200 {
			t.Fatal(status, answer)
		}
	}
	put("package empty")
	if n := told(); n != 1 {
		t.Errorf("told %d times of the same", n)
	}
	put("package more\nallow := true")
	if n := strings.Count(o.logged(logging.Info), "Of 6 paths of the policy"); n != 1 {
		t.Errorf("told %d times of another policy:\n%s", n, o.logged(logging.Info))
	}
	o.check("opa_decision_policy_paths", `opa_decision_policy_paths{label="merged"} 3`, `opa_decision_policy_paths{label="own"} 3`)
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"plugins: {regometer: {max_path: 5}}":                 `plugins.regometer: unknown key "max_path" (did you mean "max_paths"?)`,
		"plugins: {regometer: {max_paths: many}}":             `plugins.regometer.max_paths must be a whole number from 1 to 10000, not "many"`,
		"plugins: {regometer: {next: nobody}}":                `plugins.regometer.next names "nobody", which is not configured under plugins: there is no other plugin`,
		"plugins: {regometer: {next: nobody}, test_next: {}}": "the other plugins are test_next",
		"plugins: {regometer: {next: regometer}}":             `plugins.regometer.next must be the name of another plugin, not "regometer"`,
		"decision_logs: {plugin: regometer}":                  `invalid plugin name "regometer" in decision_logs`,
		"plugins: {regometer: {max_paths: 1000}}":             "raise max_series by",
	} {
		if _, err := newRuntime(t, config, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", config, err, want)
		}
	}
}

// What can only be known once all plugins are there is refused at start.
func TestServerDoesNotStart(t *testing.T) {
	t.Parallel()
	o, err := newRuntime(t, "plugins: {regometer: {next: test_other}, test_other: {}}", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	const want = `plugin regometer: the plugin "test_other", named by plugins.regometer.next, is not a decision logger`
	if err := o.Serve(ctx); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestServerWarns(t *testing.T) {
	t.Parallel()
	const service = "services: {far: {url: 'http://127.0.0.1:1'}, away: {url: 'http://127.0.0.1:1'}}\n"
	const notUploaded = "Decisions are not uploaded, because a plugin in decision_logs.plugin switches off the upload to a default service. To upload them too, set decision_logs.service to away or far."
	for config, want := range map[string]string{
		service + enabled: "", // the services may be there for bundles
		service + "decision_logs: {plugin: regometer, resource: /logs}\nplugins: {regometer: {}}": notUploaded,
		service + "decision_logs: {plugin: regometer, service: far}\nplugins: {regometer: {}}":    "",
		service + "decision_logs: {plugin: regometer, console: true}\nplugins: {regometer: {}}":   "",
		"plugins: {regometer: {}}":                                                         `The plugin sees no decisions, because decision_logs.plugin does not name it. Set decision_logs.plugin to "regometer".`,
		"decision_logs: {console: true}\nplugins: {regometer: {}}":                         "The plugin sees no decisions",
		"decision_logs: {plugin: test_next}\nplugins: {regometer: {}, test_next: {id: w}}": `Set decision_logs.plugin to "regometer", and plugins.regometer.next to "test_next" to keep that plugin.`,
	} {
		o := startOPA(t, config, nil)
		got := o.logged(logging.Warn)
		if want == "" && got != "" || !strings.Contains(got, want) || strings.Count(got, "\n") > 1 {
			t.Errorf("%s: it warns %q, want %q", config, got, want)
		}
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

// A new configuration file makes a new plugin on the same registry: nothing is
// lost, nothing is registered twice.
func TestServerWatchConfig(t *testing.T) {
	t.Parallel()
	if !watchConfig(&runtime.Params{}) {
		t.Skip("this OPA does not watch its configuration file")
	}
	o := startOPA(t, enabled, func(p *runtime.Params) { watchConfig(p) })
	want := 0
	ask := func() {
		o.do("GET", "/v1/data/rbac/allow", "")
		want++
	}
	restarts := 0
	change := func(config string) {
		t.Helper()
		write(t, o.config, config)
		restarts++
		eventually(t, "restarted", func() bool {
			return o.reloads() == restarts && len(o.Addrs()) > 0 && o.answers()
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
	change(strings.Replace(enabled, "{}", "{max_paths: 60, max_series: 3000}", 1))
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

func (o *opa) reloads() (n int) {
	for _, e := range o.logger.Entries() {
		if e.Message == "Reloading configuration." {
			n++
		}
	}
	return n
}

// answers reports whether the server listens, where it may have moved to.
func (o *opa) answers() bool {
	o.url = "http://" + o.Addrs()[0]
	response, err := http.Get(o.url + "/health?plugins")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// testLogger is a logger plugin, known as test_next. It keeps the events in
// events under the configured id.
type testLogger struct{ id string }

var events = struct {
	sync.Mutex
	paths map[string][]string
}{paths: map[string][]string{}}

func (testLogger) Start(context.Context) error      { return nil }
func (testLogger) Stop(context.Context)             {}
func (testLogger) Reconfigure(context.Context, any) {}

func (l testLogger) Log(_ context.Context, e logs.EventV1) error {
	switch e.Path {
	case "fail":
		return errors.New("the disk is full")
	case "panic":
		panic("out of order")
	}
	events.Lock()
	defer events.Unlock()
	events.paths[l.id] = append(events.paths[l.id], e.Path)
	return nil
}

type testFactory struct {
	new func(id string) plugins.Plugin
}

func (testFactory) Validate(_ *plugins.Manager, config []byte) (any, error) {
	return string(config), nil
}

func (f testFactory) New(_ *plugins.Manager, config any) plugins.Plugin {
	return f.new(config.(string))
}

// noLogger is a plugin that is no logger, known as test_other.
type noLogger struct{}

func (noLogger) Start(context.Context) error      { return nil }
func (noLogger) Stop(context.Context)             {}
func (noLogger) Reconfigure(context.Context, any) {}

func TestMain(m *testing.M) {
	runtime.RegisterPlugin("test_next", testFactory{func(id string) plugins.Plugin { return testLogger{id} }})
	runtime.RegisterPlugin("test_handler", testFactory{func(string) plugins.Plugin { return handlerPlugin{} }})
	runtime.RegisterPlugin("test_other", testFactory{func(string) plugins.Plugin { return noLogger{} }})
	os.Exit(m.Run())
}

// The next plugin gets every event; its failures are logged once and counted,
// and no request fails.
func TestServerNext(t *testing.T) {
	t.Parallel()
	o := startOPA(t, `
decision_logs: {plugin: regometer}
plugins: {regometer: {next: test_next}, test_next: {id: TestServerNext}}`, nil)
	for _, path := range []string{"rbac/allow", "fail", "panic", "fail", "rbac"} {
		if status, text := o.do("GET", "/v1/data/"+path, ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	events.Lock()
	const id = `{"id":"TestServerNext"}`
	got := strings.Join(events.paths[id], " ")
	delete(events.paths, id)
	events.Unlock()
	if got != "rbac/allow rbac" {
		t.Errorf("it got %q", got)
	}
	o.check("opa_decision_plugin_failures_total", `opa_decision_plugin_failures_total{cause="next"} 3`)
	o.check(`opa_decisions_total{outcome="undefined"`, `opa_decisions_total{outcome="undefined",path="other"} 3`)
	if text := o.logged(logging.Error); text != "The plugin \"test_next\", next after regometer, did not take an event: the disk is full. 0 earlier failures were not logged.\n" {
		t.Errorf("it logs %q", text)
	}
}

// A client that goes away, and a deadline, are no errors of OPA's. A time-out
// of http.send is one.
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
impatient := http.send({"method": "GET", "url": "`+slow.URL+`", "timeout": "20ms"})
spin if {
	some i in numbers.range(1, 100000)
	some j in numbers.range(1, 100000)
	i * j < 0
}`)
	if status != http.StatusOK {
		t.Fatal(status, text)
	}
	if status, text := o.do("POST", "/v1/data/slow/impatient?strict-builtin-errors", "{}"); status != http.StatusInternalServerError {
		t.Errorf("%d %s", status, text)
	}
	for _, path := range []string{"slow/call", "slow/spin"} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url+"/v1/data/"+path, strings.NewReader("{}"))
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
		`opa_decisions_total{outcome="cancelled",path="slow/spin"} 1`,
		`opa_decisions_total{outcome="error",path="slow/impatient"} 1`)
	if lines := o.series("opa_decision_errors_total"); len(lines) != 1 || strings.Contains(lines[0], "cancel") {
		t.Errorf("errors: %s", lines)
	}
	if lines := o.series(`opa_decision_stage_unfinished_total{cause="unknown"`); len(lines) != 0 {
		t.Errorf("unfinished: %s", lines)
	}
}

// The errors of a plugin that offers a log handler, such as OPA's own
// file_logger, are counted.
func TestServerNextHandlerFails(t *testing.T) {
	t.Parallel()
	o := startOPA(t, `
decision_logs: {plugin: regometer}
plugins: {regometer: {next: test_handler}, test_handler: {}}`, nil)
	for range 3 {
		if status, text := o.do("GET", "/v1/data/rbac/allow", ""); status != 200 {
			t.Errorf("%d %s", status, text)
		}
	}
	o.check("opa_decision_plugin_failures_total", `opa_decision_plugin_failures_total{cause="next"} 3`)
	if text := o.logged(logging.Error); !strings.Contains(text, "did not take an event: no space left on device") {
		t.Errorf("it logs %q", text)
	}
}

// handlerPlugin offers a log handler whose disk is full, known as test_handler.
type handlerPlugin struct{ noLogger }

func (handlerPlugin) Logger() slog.Handler { return slog.NewJSONHandler(fullDisk{}, nil) }

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// What a drop policy drops, a mask policy hides or a failing one keeps back is
// missing or changed in what comes by the decision log.
func TestServerDropAndMask(t *testing.T) {
	t.Parallel()
	o := startOPA(t, enabled, nil)
	put := func(name, text string) {
		t.Helper()
		if status, answer := o.do("PUT", "/v1/policies/"+name, text); status != 200 {
			t.Fatal(status, answer)
		}
	}
	put("log", `package system.log
drop if input.input.user == "dropped"
mask contains "/result" if input.input.user == "masked"
mask contains 5 if input.input.user == "broken"`)
	for _, user := range []string{"dropped", "masked", "broken", "alice"} {
		if status, text := o.do("POST", "/v1/data/rbac/allow", `{"input":{"user":"`+user+`"}}`); status != 200 {
			t.Errorf("%s: %d %s", user, status, text)
		}
	}
	o.check("opa_decisions_total{",
		`opa_decisions_total{outcome="allowed",path="rbac/allow"} 1`,
		`opa_decisions_total{outcome="result",path="rbac/allow"} 1`)
}
