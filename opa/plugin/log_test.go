// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	testlog "github.com/open-policy-agent/opa/v1/logging/test"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/version"

	"github.com/regometer/regometer/internal/race"
	"github.com/regometer/regometer/rollup"
)

// newPlugin returns a plugin that is started, by a manager without a policy.
func newPlugin(t testing.TB, config string, registry prometheus.Registerer) *Plugin {
	t.Helper()
	return newPluginOf(t, config, Factory{Registerer: registry})
}

func newPluginOf(t testing.TB, config string, f Factory) *Plugin {
	t.Helper()
	m, err := plugins.New([]byte(`{"plugins": {"regometer": `+config+`}}`), "test", inmem.New(), plugins.Logger(testlog.New()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Stop(context.Background()) })
	c, err := f.Validate(m, []byte(config))
	if err != nil {
		t.Fatal(err)
	}
	p := f.New(m, c).(*Plugin)
	m.Register(Name, p)
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// requestMetrics are those of one decision of OPA's server.
func requestMetrics() map[string]any {
	return map[string]any{
		"timer_server_handler_ns":        int64(312_345),
		"timer_rego_input_parse_ns":      int64(23_456),
		"timer_rego_query_compile_ns":    int64(87_654),
		"timer_rego_query_eval_ns":       int64(123_456),
		"timer_rego_external_resolve_ns": int64(321),
		"timer_rego_query_parse_ns":      int64(1_234),
		"counter_server_query_cache_hit": uint64(1),
		"counter_eval_op_base_cache_hit": uint64(7),
	}
}

func TestLogAllocatesNothing(t *testing.T) {
	p := newPlugin(t, `{"paths": {"allow": ["rbac/allow"]}}`, prometheus.NewRegistry())
	yes, object := any(true), any(map[string]any{"allow": false})
	for name, e := range map[string]logs.EventV1{
		"boolean":   {Path: "rbac/allow", Result: &yes, Metrics: requestMetrics()},
		"object":    {Path: "/rbac/allow", Result: &object, Metrics: requestMetrics()},
		"undefined": {Path: "invented/by/a/client", Metrics: requestMetrics()},
		"error":     {Path: "rbac/allow", Error: errors.New("x"), Metrics: requestMetrics()},
		"query":     {Query: "data.x", Metrics: requestMetrics()},
	} {
		ctx := t.Context()
		if err := p.Log(ctx, e); err != nil {
			t.Error(err)
		}
		if n := testing.AllocsPerRun(200, func() { _ = p.Log(ctx, e) }); n != 0 && !race.Enabled {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// strange panics when it is asked for its text or its kind.
type strange struct{}

func (*strange) Error() string { panic("no error") }

// FuzzLog logs arbitrary events: no error, no panic, and each is counted.
func FuzzLog(f *testing.F) {
	f.Add("rbac/allow", "", `true`, `{"timer_server_handler_ns": 5}`, "", byte(0))
	f.Add("%zz/\xff//", "data.x", `[]`, `{"timer__ns": -1, "counter_": 1e300, "histogram_x": {}}`, "/result", byte(1))
	f.Add("/", "x", `null`, `{"timer_x_ns": null, "": [], "counter_x": "7"}`, "/result/allow", byte(2))
	f.Add("-0/+1/99999999999999999999", "", `{"allow": [], "deny": {"allow": 1}}`, `[]`, "", byte(3))
	p := newPlugin(f, `{"paths": {"prefixes": ["*/x", "a/*"], "allow": ["b"]}, "stages": [{"name": "x", "parent": "rego_query_eval"}]}`, prometheus.NewRegistry())
	f.Fuzz(func(t *testing.T, path, query, result, metrics, mask string, kind byte) {
		event := logs.EventV1{Path: path, Query: query, Erased: []string{mask}}
		var v any
		if json.Unmarshal([]byte(result), &v) == nil {
			event.Result = &v
		}
		decoder := json.NewDecoder(strings.NewReader(metrics))
		if kind&1 != 0 {
			decoder.UseNumber()
		}
		_ = decoder.Decode(&event.Metrics)
		switch kind >> 1 & 3 {
		case 1:
			event.Error = errors.New(query)
		case 2:
			event.Error = (*strange)(nil)
		case 3:
			event.Error = &strange{}
		}
		before, failed := p.total(), p.counted().failures[causePanic].Load()
		if err := p.Log(context.Background(), event); err != nil {
			t.Errorf("Log returns %v", err)
		}
		if got := p.total(); got != before+1 {
			t.Errorf("%d decisions after %d", got, before)
		}
		if n := p.counted().failures[causePanic].Load(); n != failed {
			t.Errorf("%d panics", n-failed)
		}
	})
}

func (p *Plugin) counted() *state { return p.active.Load().recorder.state }

func (p *Plugin) total() (n uint64) {
	var snapshot rollup.Snapshot
	p.counted().rollup.Snapshot(&snapshot)
	for _, path := range snapshot.Paths {
		for _, count := range path.Outcomes {
			n += count
		}
	}
	return n
}

// panicking is an error that panics when it is looked into.
type panicking struct{}

func (panicking) Error() string { return "" }
func (panicking) Unwrap() error { panic("out of order") }

// A panic within Log is counted and logged, and the next plugin still gets the
// event.
func TestLogPanics(t *testing.T) {
	t.Parallel()
	logger := testlog.New()
	p := newPlugin(t, `{}`, prometheus.NewRegistry())
	p.logger = logger
	got := 0
	p.setNext("test", counter{n: &got})
	for range 3 {
		if err := p.Log(t.Context(), logs.EventV1{Path: "x", Error: panicking{}}); err != nil {
			t.Error(err)
		}
	}
	if n := p.counted().failures[causePanic].Load(); n != 3 || got != 3 {
		t.Errorf("%d panics counted, %d events handed on, want 3 and 3", n, got)
	}
	entries := logger.Entries()
	if len(entries) != 1 || !strings.HasPrefix(entries[0].Message, "A decision could not be recorded: panic: out of order") {
		t.Errorf("logged %v", entries)
	}
}

// setNext registers the next plugin.
func (p *Plugin) setNext(name string, next plugins.Plugin) {
	p.manager.Register(name, next)
	p.active.Store(&active{p.active.Load().recorder, name})
}

type counter struct {
	handlerPlugin
	n *int
}

func (c counter) Log(context.Context, logs.EventV1) error { *c.n++; return nil }

// Log before Start and after Stop does nothing wrong.
func TestLogNotStarted(t *testing.T) {
	t.Parallel()
	p := &Plugin{}
	if err := p.Log(t.Context(), logs.EventV1{}); err != nil {
		t.Error(err)
	}
	p = newPlugin(t, `{}`, prometheus.NewRegistry())
	p.Stop(t.Context())
	p.Stop(t.Context())
	if err := p.Log(t.Context(), logs.EventV1{Path: "x"}); err != nil || p.total() != 1 {
		t.Errorf("%v, %d decisions", err, p.total())
	}
}

// Metrics are registered where OPA has its own; what a Factory has is for OPAs
// without. Before it is started, a plugin is not ready, and nothing waits for
// it.
func TestNew(t *testing.T) {
	t.Parallel()
	own, factory := prometheus.NewRegistry(), prometheus.NewRegistry()
	const config = `{"plugins": {"regometer": {}}}`
	m, err := plugins.New([]byte(config), "test", inmem.New(), plugins.Logger(testlog.New()), plugins.WithPrometheusRegister(own))
	if err != nil {
		t.Fatal(err)
	}
	p := Factory{Registerer: factory}.New(m, defaultConfig()).(*Plugin)
	if s := m.PluginStatus()[Name]; s == nil || s.State != plugins.StateNotReady {
		t.Errorf("status %v", s)
	}
	for range 2 { // once is enough
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if decisions(t, own, "opa", "x") != -1 || sumOf(t, own, "regometer_build_info", nil) != 1 || sumOf(t, factory, "regometer_build_info", nil) != 0 {
		t.Error("the metrics are not where OPA's are")
	}
	p.Stop(t.Context())
	if families, err := own.Gather(); err != nil || len(families) != 1 {
		t.Errorf("after Stop: %v, %v", families, err)
	}
}

// What regometer_build_info says is what the program says, else what is known
// here.
func TestBuild(t *testing.T) {
	t.Parallel()
	given := Build{Version: "v1", OPA: "v2", DropIn: "v3"}
	if got := given.complete(); got != given {
		t.Errorf("%+v, want %+v", got, given)
	}
	if got, want := (Build{}).complete(), (Build{Version: "devel", OPA: version.Version}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	const path = "github.com/regometer/regometer/opa"
	other := &debug.Module{Path: "example.com/x", Version: "v7.0.0"}
	for want, m := range map[string]debug.Module{
		"v1.2.3": {Path: path, Version: "v1.2.3"},
		"devel":  {Path: path, Version: "v0.0.0", Replace: &debug.Module{Path: "../opa"}},
	} {
		if got := versionIn(&debug.BuildInfo{Main: *other, Deps: []*debug.Module{other, &m}}); got != want {
			t.Errorf("as a dependency: %s, want %s", got, want)
		}
		if got := versionIn(&debug.BuildInfo{Main: m, Deps: []*debug.Module{other}}); got != want {
			t.Errorf("as the program's own module: %s, want %s", got, want)
		}
	}
	if got := versionIn(&debug.BuildInfo{Main: debug.Module{Path: path, Version: "(devel)"}}); got != "devel" {
		t.Error(got)
	}

	registry := prometheus.NewRegistry()
	newPluginOf(t, `{}`, Factory{Registerer: registry, Build: given})
	want := map[string]string{"version": "v1", "opa_version": "v2", "dropin": "v3"}
	for name, value := range want {
		if n := sumOf(t, registry, "regometer_build_info", map[string]string{name: value}); n != 1 {
			t.Errorf("%s is not %s", name, value)
		}
	}
}

// A plugin that offers a log handler, as OPA's own file logger does, gets the
// fields of the event by name.
func TestNextHandler(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := newPlugin(t, `{}`, prometheus.NewRegistry())
	p.manager.Register("lines", handlerPlugin{handler: slog.NewJSONHandler(&b, nil)})
	result, input := any(map[string]any{"allow": true}), any("x")
	err := logTo(t.Context(), p.manager, "lines", logs.EventV1{
		Labels: map[string]string{"id": "1"}, DecisionID: "2", Path: "a/b", Input: &input, Result: &result, Erased: []string{},
		Error: errors.New("bad"), Timestamp: time.Unix(0, 0).UTC(), Metrics: map[string]any{"timer_x_ns": 5}, RequestID: 7,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(b.String(), `"level":"INFO",`)
	want := `"msg":"Decision Log","type":"openpolicyagent.org/decision_logs","labels":{"id":"1"},"decision_id":"2","path":"a/b",` +
		`"input":"x","result":{"allow":true},"error":"bad","timestamp":"1970-01-01T00:00:00Z","metrics":{"timer_x_ns":5},"req_id":7}` + "\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p.manager.Register("none", handlerPlugin{})
	for name, want := range map[string]string{"none": "has no log handler", "missing": "which is not there"} {
		if err := checkLogger(p.manager, name); err != nil { // OPA may start it later
			t.Errorf("%s: %v", name, err)
		}
		if err := logTo(t.Context(), p.manager, name, logs.EventV1{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}

type handlerPlugin struct {
	plugins.Plugin
	handler slog.Handler
}

func (handlerPlugin) Start(context.Context) error { return nil }
func (handlerPlugin) Stop(context.Context)        {}
func (h handlerPlugin) Logger() slog.Handler      { return h.handler }

// The errors of a log handler are not lost.
func TestNextHandlerFails(t *testing.T) {
	t.Parallel()
	p := newPlugin(t, `{}`, prometheus.NewRegistry())
	for name, options := range map[string]*slog.HandlerOptions{"full": nil, "quiet": {Level: slog.LevelError}} {
		p.setNext(name, handlerPlugin{handler: slog.NewJSONHandler(fullDisk{}, options)})
		for range 2 {
			if err := p.Log(t.Context(), logs.EventV1{Path: "x"}); err != nil {
				t.Error(err)
			}
		}
	}
	if n := p.counted().failures[causeNext].Load(); n != 2 {
		t.Errorf("%d failures are counted, want 2", n)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestRateLimiter(t *testing.T) {
	t.Parallel()
	var s rateLimiter
	if ok, omitted := s.allow(); !ok || omitted != 0 {
		t.Error(ok, omitted)
	}
	for range 3 {
		if ok, _ := s.allow(); ok {
			t.Error("passes again")
		}
	}
	for _, want := range []uint64{3, 0} {
		s.last = s.last.Add(-time.Minute)
		if ok, omitted := s.allow(); !ok || omitted != want {
			t.Errorf("it passes: %t, after %d omitted, want %d", ok, omitted, want)
		}
	}
}

// A stopped plugin does not warn after a change of OPA's configuration.
func TestStopEndsWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlugin(t, `{}`, nil)
		reconfigured := func() string {
			t.Helper()
			p.warned = ""
			if err := p.manager.Reconfigure(configOf(p.manager)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return p.warned
		}
		if !strings.Contains(reconfigured(), "Nothing is exported") {
			t.Error("a started plugin does not warn")
		}
		p.Stop(t.Context())
		if text := reconfigured(); text != "" {
			t.Errorf("a stopped plugin warns: %s", text)
		}
	})
}
