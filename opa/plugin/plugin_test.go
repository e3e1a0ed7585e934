// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	opaconfig "github.com/open-policy-agent/opa/v1/config"
	"github.com/open-policy-agent/opa/v1/logging"
	testlog "github.com/open-policy-agent/opa/v1/logging/test"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/server"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/version"

	"github.com/regometer/regometer/internal/race"
	"github.com/regometer/regometer/opa/internal/hook"
	"github.com/regometer/regometer/rollup"
)

// newManager returns the manager of an OPA without a policy, with this
// configuration in JSON.
func newManager(t testing.TB, config string, options ...func(*plugins.Manager)) *plugins.Manager {
	t.Helper()
	m, err := plugins.New([]byte(config), "test", inmem.New(), append(options, plugins.Logger(testlog.New()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Stop(context.Background()) })
	return m
}

// newPluginIn returns a started plugin of an OPA with this configuration.
func newPluginIn(t testing.TB, config string, f Factory) *Plugin {
	t.Helper()
	var parsed struct{ Plugins map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(config), &parsed); err != nil {
		t.Fatal(err)
	}
	m := newManager(t, config)
	c, err := f.Validate(m, parsed.Plugins[Name])
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

// newPlugin returns a started plugin with this configuration of its own.
func newPlugin(t testing.TB, config string, registry prometheus.Registerer) *Plugin {
	t.Helper()
	return newPluginIn(t, `{"plugins": {"regometer": `+config+`}}`, Factory{Registerer: registry})
}

// observed is the context key of decisions that ObserveDecision got.
type observed struct{}

// hooked returns the factory of a binary of `regometer build`. numbers may be
// nil.
func hooked(registry prometheus.Registerer, numbers func([]rollup.Number, metrics.Metrics) []rollup.Number) Factory {
	return Factory{Registerer: registry, Build: &hook.Build{
		Version: "v1", DropIn: "v3", Numbers: numbers,
		Observed: func(ctx context.Context) bool { return ctx.Value(observed{}) != nil },
	}}
}

// Logged returns the plugin's messages of a level, one in each line.
func Logged(logger logging.Logger, level logging.Level) string {
	var b strings.Builder
	for _, e := range logger.(*testlog.Logger).Entries() {
		if e.Level == level && e.Fields["plugin"] == Name {
			b.WriteString(e.Message + "\n")
		}
	}
	return b.String()
}

func (p *Plugin) logged(level logging.Level) string { return Logged(p.manager.Logger(), level) }

// sumOf returns the sum of a metric's values with these labels, or -1 if the
// registry has no such metric. The value of a histogram is its count.
func sumOf(t *testing.T, g prometheus.Gatherer, name string, labels map[string]string) float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		sum := 0.0
		for _, m := range f.GetMetric() {
			matches := 0
			for _, l := range m.GetLabel() {
				if want, ok := labels[l.GetName()]; ok && want == l.GetValue() {
					matches++
				}
			}
			if matches == len(labels) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		return sum
	}
	return -1
}

func checkSum(t *testing.T, g prometheus.Gatherer, name string, labels map[string]string, want float64) {
	t.Helper()
	if got := sumOf(t, g, name, labels); got != want {
		t.Errorf("%s with %v is %v, want %v", name, labels, got, want)
	}
}

// checkDecisions compares the number of a path's decisions. -1 means that the
// registry has no metrics in this namespace.
func checkDecisions(t *testing.T, g prometheus.Gatherer, namespace, path string, want float64) {
	t.Helper()
	checkSum(t, g, namespace+"_decisions_total", map[string]string{"path": path}, want)
}

// log sends an event to the plugin.
func (p *Plugin) log(t *testing.T, event logs.EventV1) {
	t.Helper()
	if err := p.Log(t.Context(), event); err != nil {
		t.Errorf("Log returns %v", err)
	}
}

// requestMetrics returns the metrics of a decision of OPA's server.
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

// numbersOf appends the int64 values of a collection.
func numbersOf(dst []rollup.Number, m metrics.Metrics) []rollup.Number {
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

// counted returns the state that the plugin records into.
func (p *Plugin) counted() *state { return p.active.Load().recorder.state }

// total returns the number of recorded decisions.
func (p *Plugin) total() (n uint64) {
	var snapshot rollup.Snapshot
	p.counted().rollup.Snapshot(&snapshot)
	for _, path := range snapshot.Paths {
		for _, count := range path.Outcomes() {
			n += count
		}
	}
	return n
}

// A decision counts the same as the server hands it over and as an event of the
// decision log, with the collection's numbers or its map.
func TestObserveDecision(t *testing.T) {
	t.Parallel()
	result, m := any(true), metrics.New()
	m.Timer(metrics.ServerHandler).Start()
	for m.Timer(metrics.RegoQueryEval).Stop() == 0 {
		m.Timer(metrics.RegoQueryEval).Start()
	}
	for m.Timer(metrics.ServerHandler).Stop() == 0 {
		m.Timer(metrics.ServerHandler).Start()
	}
	m.Counter(metrics.ServerQueryCacheHit).Add(3)
	infos := []*server.Info{
		{Path: "rbac/allow", Results: &result, Metrics: m},
		{Path: "/rbac/allow/x", Metrics: m},
		{Path: "rbac/allow", Error: &topdown.Error{Code: topdown.ConflictErr}, Metrics: m},
		{Path: "nothing", Error: &topdown.Error{Code: topdown.CancelErr}, Metrics: metrics.New()},
		{Query: "x = 1", Results: &result},
	}
	const config = `{"plugins": {"regometer": {"paths": {"prefixes": ["rbac/allow"]}}}}`
	wantRegistry := prometheus.NewRegistry()
	want := newPluginIn(t, config, Factory{Registerer: wantRegistry})
	for _, info := range infos {
		event := logs.EventV1{Path: info.Path, Query: info.Query, Result: info.Results, Error: info.Error}
		if info.Metrics != nil {
			event.Metrics = info.Metrics.All()
		}
		want.log(t, event)
	}
	for _, numbers := range []func([]rollup.Number, metrics.Metrics) []rollup.Number{numbersOf, nil} {
		registry := prometheus.NewRegistry()
		p := newPluginIn(t, config, hooked(registry, numbers))
		for _, info := range infos {
			p.ObserveDecision(t.Context(), info)
		}
		for _, metric := range []string{
			"opa_decisions_total", "opa_decision_errors_total", "opa_decision_counters_total", "opa_decision_stage_duration_seconds",
			"opa_decision_path_duration_seconds", "opa_decision_path_self_seconds_total", "opa_decision_stage_self_seconds_total",
		} {
			for _, labels := range []map[string]string{nil, {"path": "rbac/allow"}, {"outcome": "cancelled"}, {"stage": "rego_query_eval"}, {"code": "eval_conflict_error"}} {
				checkSum(t, registry, metric, labels, sumOf(t, wantRegistry, metric, labels))
			}
		}
		checkSum(t, registry, "opa_decision_received_total", map[string]string{"source": "server"}, float64(len(infos)))
	}
}

// A decision that comes both ways counts once. A decision that comes only by
// the decision log, as those of opa-envoy-plugin do, counts too.
func TestBothWays(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	p := newPluginIn(t, `{"plugins": {"regometer": {}}}`, hooked(registry, nil))
	next := &nextPlugin{}
	p.setNext(next)
	for range 5 {
		p.ObserveDecision(t.Context(), &server.Info{Path: "x"})
		if err := p.Log(context.WithValue(t.Context(), observed{}, true), logs.EventV1{Path: "x"}); err != nil {
			t.Error(err)
		}
	}
	p.log(t, logs.EventV1{Path: "x"})
	checkSum(t, registry, "opa_decision_received_total", map[string]string{"source": "server"}, 5)
	checkSum(t, registry, "opa_decision_received_total", map[string]string{"source": "decision_log"}, 1)
	checkSum(t, registry, "opa_decisions_total", nil, 6)
	checkSum(t, registry, "opa_decision_log_events_total", nil, 6)
	if len(next.events) != 6 {
		t.Errorf("the next plugin got %d events, want 6", len(next.events))
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	fixed := []rollup.Number{{Key: "timer_server_handler_ns", Value: 312_345}, {Key: "timer_rego_query_eval_ns", Value: 123_456}}
	p := newPluginIn(t, `{"plugins": {"regometer": {"paths": {"allow": ["rbac/allow", "a/7"], "prefixes": ["tenants/*/x"]}}}}`,
		hooked(prometheus.NewRegistry(), func(dst []rollup.Number, _ metrics.Metrics) []rollup.Number { return append(dst, fixed...) }))
	yes, object := any(true), any(map[string]any{"allow": false})
	for name, info := range map[string]*server.Info{
		"boolean":   {Path: "rbac/allow", Results: &yes},
		"object":    {Path: "/rbac/allow", Results: &object},
		"undefined": {Path: "invented/by/a/client/99"},
		"integer":   {Path: "a/007/x"},
		"pattern":   {Path: "/tenants/acme/x"},
		"all data":  {},
		"error":     {Path: "rbac/allow", Error: errors.New("x")},
		"query":     {Query: "data.x", Results: &yes},
	} {
		info.Metrics = metrics.New()
		event := logs.EventV1{Path: info.Path, Query: info.Query, Result: info.Results, Error: info.Error, Metrics: requestMetrics()}
		for way, record := range map[string]func(){
			"ObserveDecision": func() { p.ObserveDecision(t.Context(), info) },
			"Log":             func() { _ = p.Log(t.Context(), event) },
		} {
			record()
			if n := testing.AllocsPerRun(200, record); n != 0 {
				t.Errorf("%s, %s: %v allocations, want none", way, name, n)
			}
		}
	}
}

// Buffers that are used again are small, and keep no names, which are parts of
// a collection's memory. The test is not parallel, because others would use the
// buffers.
func TestNumberBuffers(t *testing.T) {
	for _, length := range []int{2, 10_000} {
		registry := prometheus.NewRegistry()
		var used []rollup.Number
		p := newPluginIn(t, `{"plugins": {"regometer": {}}}`, hooked(registry, func(dst []rollup.Number, _ metrics.Metrics) []rollup.Number {
			if len(dst) != 0 {
				t.Errorf("a buffer begins with %v", dst)
			}
			for range length {
				dst = append(dst, rollup.Number{Key: "timer_rego_query_eval_ns", Value: 1})
			}
			used = dst
			return dst
		}))
		for range 2 {
			p.ObserveDecision(t.Context(), &server.Info{Path: "x", Metrics: metrics.New()})
		}
		checkSum(t, registry, "opa_decision_stage_duration_seconds", nil, float64(2*length))
		if length < maxNumbers && used[1] != (rollup.Number{}) {
			t.Errorf("a buffer keeps %v", used[1])
		}
		for range 10 {
			if b := numberBuffers.Get().(*[]rollup.Number); cap(*b) > maxNumbers {
				t.Errorf("a buffer of %d numbers is used again", cap(*b))
			}
		}
	}
}

// strange panics when somebody asks for its text.
type strange struct{}

func (*strange) Error() string { panic("no error") }

// FuzzLog logs arbitrary events: each is counted, without an error or a panic.
func FuzzLog(f *testing.F) {
	f.Add("rbac/allow", "", `true`, `{"timer_server_handler_ns": 5}`, "", byte(0))
	f.Add("%zz/\xff//", "data.x", `[]`, `{"timer__ns": -1, "counter_": 1e300, "histogram_x": {}}`, "/result", byte(1))
	f.Add("/", "x", `null`, `{"timer_x_ns": null, "": [], "counter_x": "7"}`, "/result/allow", byte(2))
	f.Add("-0/+1/99999999999999999999", "", `{"allow": [], "deny": {"allow": 1}}`, `[]`, "", byte(3))
	f.Add("other", "", `{}`, `{"timer_server_handler_ns": 9223372036854775807, "timer_rego_input_parse_ns": 9223372036854775807}`, "", byte(1))
	f.Add("\xff", "", `{}`, `{"timer_server_handler_ns": -9223372036854775808, "timer_\ud800_ns": 1.5, "timer_timer__ns_ns": 2}`, "", byte(0))
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
		p.log(t, event)
		if got := p.total(); got != before+1 {
			t.Errorf("%d decisions are recorded, want %d", got, before+1)
		}
		if n := p.counted().failures[causePanic].Load(); n != failed {
			t.Errorf("%d panics, want none", n-failed)
		}
	})
}

// panicking is an error that panics when somebody unwraps it.
type panicking struct{}

func (panicking) Error() string { return "" }
func (panicking) Unwrap() error { panic("out of order") }

// The plugin counts panics and logs one of them. The next plugin still gets the
// event, and decisions after that are recorded.
func TestPanics(t *testing.T) {
	t.Parallel()
	p := newPluginIn(t, `{"plugins": {"regometer": {}}}`, hooked(prometheus.NewRegistry(),
		func([]rollup.Number, metrics.Metrics) []rollup.Number { panic("out of order") }))
	next := &nextPlugin{}
	p.setNext(next)
	for range 3 {
		p.log(t, logs.EventV1{Path: "x", Error: panicking{}})
	}
	p.ObserveDecision(t.Context(), &server.Info{Path: "x", Metrics: metrics.New()})
	p.ObserveDecision(t.Context(), &server.Info{Path: "x", Error: panicking{}})
	if n := p.counted().failures[causePanic].Load(); n != 5 || len(next.events) != 3 {
		t.Errorf("%d panics are counted, and the next plugin got %d events, want 5 and 3", n, len(next.events))
	}
	if got, want := p.logged(logging.Error), "A decision could not be recorded: panic: out of order.\n"; got != want {
		t.Errorf("the plugin logs %q, want %q", got, want)
	}
	p.ObserveDecision(t.Context(), &server.Info{Path: "x"})
	if n := p.total(); n != 1 {
		t.Errorf("%d decisions are recorded, want 1", n)
	}
}

// countedStore counts the transactions of a store.
type countedStore struct {
	storage.Store
	transactions int
}

func (s *countedStore) NewTransaction(ctx context.Context, p ...storage.TransactionParams) (storage.Transaction, error) {
	s.transactions++
	return s.Store.NewTransaction(ctx, p...)
}

// The plugin registers its metrics at OPA's own registry, if there is one.
// Before Start it is not ready, and records nothing. After Stop it exports
// nothing, and still records. A scrape opens the store once.
func TestLifeCycle(t *testing.T) {
	t.Parallel()
	own, factory := prometheus.NewRegistry(), prometheus.NewRegistry()
	m := newManager(t, `{"plugins": {"regometer": {}}}`, plugins.WithPrometheusRegister(own))
	p := Factory{Registerer: factory}.New(m, defaultConfig()).(*Plugin)
	if s := m.PluginStatus()[Name]; s == nil || s.State != plugins.StateNotReady {
		t.Errorf("the status is %v, want not ready", s)
	}
	p.log(t, logs.EventV1{Path: "x"})
	p.ObserveDecision(t.Context(), &server.Info{})
	for range 2 {
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	store := &countedStore{Store: m.Store}
	m.Store = store
	checkSum(t, own, "opa_decision_received_total", nil, 0)
	if store.transactions != 1 {
		t.Errorf("a scrape opens the store %d times, want once", store.transactions)
	}
	checkSum(t, own, "regometer_build_info", nil, 1)
	checkSum(t, factory, "regometer_build_info", nil, -1)
	p.Stop(t.Context())
	p.Stop(t.Context())
	p.log(t, logs.EventV1{Path: "x"})
	if families, err := own.Gather(); err != nil || len(families) != 1 || p.total() != 1 {
		t.Errorf("after Stop: %d families, %v, %d decisions, want 1 and 1", len(families), err, p.total())
	}
}

func TestBuild(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	newPluginIn(t, `{"plugins": {"regometer": {}}}`, hooked(registry, nil))
	checkSum(t, registry, "regometer_build_info", map[string]string{"version": "v1", "opa_version": version.Version, "dropin": "v3"}, 1)
	registry = prometheus.NewRegistry()
	newPlugin(t, `{}`, registry)
	checkSum(t, registry, "regometer_build_info", map[string]string{"version": "devel", "opa_version": version.Version}, 1)

	const path = "github.com/regometer/regometer/opa"
	other := &debug.Module{Path: "example.com/x", Version: "v7.0.0"}
	for _, test := range []struct {
		module debug.Module
		want   string
	}{
		{debug.Module{Path: path, Version: "v1.2.3"}, "v1.2.3"},
		{debug.Module{Path: path, Version: "(devel)"}, "devel"},
		{debug.Module{Path: path, Version: "v0.0.0", Replace: &debug.Module{Path: "../opa"}}, "devel"},
	} {
		info := &debug.BuildInfo{Main: *other, Deps: []*debug.Module{other, &test.module}}
		if got := versionIn(info); got != test.want {
			t.Errorf("%+v: the version is %s, want %s", info, got, test.want)
		}
	}
}

// The plugin warns if decisions do not go where an operator may expect them.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const (
		services    = `"services": {"far": {"url": "http://127.0.0.1:1"}, "away": {"url": "http://127.0.0.1:1"}}`
		none        = `The plugin sees no decisions, because decision_logs.plugin does not name it. Set decision_logs.plugin to "regometer"`
		noneOf      = `The plugin sees no decisions of %s, because decision_logs.plugin does not name it. Set decision_logs.plugin to "regometer"`
		keep        = `, and plugins.regometer.next to "x" to keep that plugin.`
		notUploaded = "Decisions are not uploaded, because a plugin in decision_logs.plugin switches off the upload to a default service. To upload them too, set decision_logs.service to away or far"
		noEvents    = `The plugin "x", named by plugins.regometer.next, gets no events, because decision_logs.plugin does not name "regometer". ` +
			`Set decision_logs.plugin to "x" and remove next: this OPA counts decisions without it.`
		instance = `"metrics_export": {"type": "otlp/grpc", "resource": {"service_instance_id": %q}}`
	)
	noInstance := ""
	if _, exports := reflect.TypeFor[opaconfig.Config]().FieldByName("MetricsExport"); exports { // from OPA 1.16 on
		noInstance = "metrics_export does not name this server. Servers without a name write the same series, so that sums and rates are wrong. " +
			"Set metrics_export.resource.service_instance_id to a name of its own, such as ${HOSTNAME}, and set that environment variable."
	}
	for _, test := range []struct {
		decisionLogs, plugins, more string
		want, wantHooked            string // in an OPA without the hook, and with it
	}{
		{`{"plugin": "regometer"}`, `"regometer": {}`, services, "", ""}, // the services may be there for bundles
		{`{"plugin": "regometer", "resource": "/logs"}`, `"regometer": {}`, services, notUploaded + ".", notUploaded + ", or remove decision_logs.plugin: this OPA counts decisions without it."},
		{`{"plugin": "regometer", "reporting": {}}`, `"regometer": {}, "envoy_ext_authz_grpc": {}`, services, notUploaded + ".", notUploaded + "."},
		{`{"plugin": "regometer", "partition_name": "x"}`, `"regometer": {}`, `"labels": {}`, "", ""},
		{`{}`, `"regometer": {}`, services, none + ".", ""},
		{`{"plugin": "x"}`, `"regometer": {}, "x": {}`, services, none + keep, ""},
		{`{}`, `"regometer": {}, "envoy_ext_authz_grpc": {}`, services, none + ".", fmt.Sprintf(noneOf, "envoy_ext_authz_grpc") + "."},
		{`{"plugin": "x"}`, `"regometer": {}, "envoy.ext_authz.grpc": {}, "x": {}`, services, none + keep, fmt.Sprintf(noneOf, "envoy.ext_authz.grpc") + keep},
		{`{"console": true}`, `"regometer": {"next": "x"}, "x": {}`, services, none + ".", noEvents},
		{`{"plugin": "x"}`, `"regometer": {"next": "x"}, "x": {}`, services, none + keep, ""},
		{`{"plugin": "regometer"}`, `"regometer": {}`, `"metrics_export": {"type": "otlp/http"}`, noInstance, noInstance},
		{`{"plugin": "regometer"}`, `"regometer": {}`, fmt.Sprintf(instance, ""), noInstance, noInstance},
		{`{"plugin": "regometer"}`, `"regometer": {}`, fmt.Sprintf(instance, "${NOT_SET}"), noInstance, noInstance},
		{`{"plugin": "regometer"}`, `"regometer": {}`, fmt.Sprintf(instance, "one"), "", ""},
	} {
		config := fmt.Sprintf(`{"decision_logs": %s, "plugins": {%s}, %s}`, test.decisionLogs, test.plugins, test.more)
		check := func(f Factory, want string) {
			t.Helper()
			if got := strings.TrimSuffix(newPluginIn(t, config, f).logged(logging.Warn), "\n"); got != want {
				t.Errorf("%s: the plugin warns %q, want %q", config, got, want)
			}
		}
		check(Factory{Registerer: prometheus.NewRegistry()}, test.want)
		check(hooked(prometheus.NewRegistry(), nil), test.wantHooked)
	}
}

// The plugin repeats a warning if it holds again. A stopped plugin does not
// warn.
func TestWarningsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPluginIn(t, `{"decision_logs": {"plugin": "regometer"}, "plugins": {"regometer": {}}}`, Factory{})
		reconfigured := func(registry prometheus.Registerer) int {
			t.Helper()
			p.registry = registry
			if err := p.manager.Reconfigure(configOf(p.manager)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return strings.Count(p.logged(logging.Warn), "No metrics are exported, because this OPA has no Prometheus registry.")
		}
		for _, step := range []struct {
			registry prometheus.Registerer
			want     int
		}{{nil, 1}, {prometheus.NewRegistry(), 1}, {nil, 2}, {nil, 2}, {prometheus.NewRegistry(), 2}} {
			if n := reconfigured(step.registry); n != step.want {
				t.Errorf("the plugin warns %d times, want %d", n, step.want)
			}
		}
		p.Stop(t.Context())
		if n := reconfigured(nil); n != 2 {
			t.Errorf("a stopped plugin warns")
		}
	})
}

// nextPlugin is a logger plugin that keeps the paths of its events.
type nextPlugin struct {
	noLogger
	events []string
}

func (n *nextPlugin) Log(_ context.Context, e logs.EventV1) error {
	switch e.Path {
	case "fail":
		return errors.New("the disk is full")
	case "panic":
		panic("out of order")
	}
	n.events = append(n.events, e.Path)
	return nil
}

// noLogger is a plugin that is not a logger.
type noLogger struct{}

func (noLogger) Start(context.Context) error      { return nil }
func (noLogger) Stop(context.Context)             {}
func (noLogger) Reconfigure(context.Context, any) {}

// handlerPlugin offers a log handler, as OPA's file_logger does.
type handlerPlugin struct {
	noLogger
	handler slog.Handler
}

func (h handlerPlugin) Logger() slog.Handler { return h.handler }

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// setNext makes a plugin the next one.
func (p *Plugin) setNext(next plugins.Plugin) {
	if next != nil {
		p.manager.Register("test", next)
	}
	p.active.Store(&active{recorder: p.active.Load().recorder, next: "test"})
}

// The next plugin gets each event. The plugin counts its failures, logs the
// first of them, and returns no error.
func TestNext(t *testing.T) {
	t.Parallel()
	const failed = `The plugin "test", named by plugins.regometer.next, did not take an event: `
	for name, test := range map[string]struct {
		next     plugins.Plugin
		failures uint64
		logged   string
	}{
		"logger":                {&nextPlugin{}, 3, failed + "the disk is full."},
		"handler":               {handlerPlugin{handler: slog.NewJSONHandler(&bytes.Buffer{}, nil)}, 0, ""},
		"failing handler":       {handlerPlugin{handler: slog.NewJSONHandler(fullDisk{}, nil)}, 5, failed + "no space left on device."},
		"handler of errors":     {handlerPlugin{handler: slog.NewJSONHandler(fullDisk{}, &slog.HandlerOptions{Level: slog.LevelError})}, 0, ""},
		"no handler":            {handlerPlugin{}, 5, `the plugin "test", named by plugins.regometer.next, has no log handler`},
		"not a decision logger": {noLogger{}, 5, "is not a decision logger"},
		"not there":             {nil, 5, `plugins.regometer.next names the plugin "test", which does not exist`},
	} {
		p := newPlugin(t, `{}`, prometheus.NewRegistry())
		p.setNext(test.next)
		if err := checkLogger(p.manager, "test"); (err != nil) != (name == "not a decision logger") {
			t.Errorf("%s: Start fails: %v", name, err)
		}
		for _, path := range []string{"rbac/allow", "fail", "panic", "fail", "rbac"} {
			p.log(t, logs.EventV1{Path: path})
		}
		if n := p.counted().failures[causeNext].Load(); n != test.failures || p.counted().failures[causePanic].Load() != 0 || p.total() != 5 {
			t.Errorf("%s: %d failures of %d decisions, want %d of 5", name, n, p.total(), test.failures)
		}
		if got := p.logged(logging.Error); !strings.Contains(got, test.logged) || strings.Count(got, "\n") != int(min(1, test.failures)) {
			t.Errorf("%s: the plugin logs %q, want %q", name, got, test.logged)
		}
		if next, ok := test.next.(*nextPlugin); ok && strings.Join(next.events, " ") != "rbac/allow rbac" {
			t.Errorf("%s: the next plugin got %q", name, next.events)
		}
	}

	m := newManager(t, `{"plugins": {"regometer": {}, "there": {}}}`)
	if _, err := (Factory{}).Validate(m, []byte(`{"next": "there"}`)); err != nil {
		t.Error(err)
	}
	for want, m := range map[string]*plugins.Manager{
		"the other plugins are there":   m,
		"no other plugin is configured": newManager(t, `{"plugins": {"regometer": {}}}`),
	} {
		want = `plugins.regometer.next names "nobody", which is not configured under plugins: ` + want
		if _, err := (Factory{}).Validate(m, []byte(`{"next": "nobody"}`)); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	m.Register("there", noLogger{})
	c := defaultConfig()
	c.Next = "there"
	if err := (Factory{}).New(m, c).Start(t.Context()); err == nil || !strings.HasPrefix(err.Error(), `plugin regometer: the plugin "there"`) {
		t.Errorf("error %v, want that the plugin is not a decision logger", err)
	}
}

// A log handler gets the event's fields by name, and what pointers point to.
func TestNextHandler(t *testing.T) {
	t.Parallel()
	result, input := any(map[string]any{"allow": true}), any("x")
	event := logs.EventV1{
		Labels: map[string]string{"id": "1"}, DecisionID: "2", Path: "a/b", Input: &input, Result: &result, Erased: []string{},
		Error: errors.New("bad"), Timestamp: time.Unix(0, 0).UTC(), Metrics: map[string]any{"timer_x_ns": 5}, RequestID: 7,
	}
	var b bytes.Buffer
	p := newPlugin(t, `{}`, prometheus.NewRegistry())
	p.setNext(handlerPlugin{handler: slog.NewJSONHandler(&b, nil)})
	p.log(t, event)
	want := `"level":"INFO","msg":"Decision Log","type":"openpolicyagent.org/decision_logs","labels":{"id":"1"},"decision_id":"2","path":"a/b",` +
		`"input":"x","result":{"allow":true},"error":"bad","timestamp":"1970-01-01T00:00:00Z","metrics":{"timer_x_ns":5},"req_id":7}`
	if got := b.String(); !strings.HasSuffix(got, want+"\n") {
		t.Errorf("the handler wrote\n%s, want\n%s", got, want)
	}
}
