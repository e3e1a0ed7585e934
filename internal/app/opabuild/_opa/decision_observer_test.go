// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/server"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

// idlePlugin does nothing.
type idlePlugin struct{}

func (idlePlugin) Start(context.Context) error { return nil }

func (idlePlugin) Stop(context.Context) {}

func (idlePlugin) Reconfigure(context.Context, any) {}

// observingPlugin counts the decisions that it observes.
type observingPlugin struct {
	idlePlugin
	observed atomic.Int64
	path     atomic.Pointer[string] // of the last one
}

func (p *observingPlugin) ObserveDecision(_ context.Context, info *server.Info) {
	p.observed.Add(1)
	p.path.Store(&info.Path)
}

// loggingPlugin calls onLog for each event that is logged.
type loggingPlugin struct {
	idlePlugin
	onLog func(context.Context)
}

func (p *loggingPlugin) Log(ctx context.Context, _ logs.EventV1) error {
	p.onLog(ctx)
	return nil
}

// observingLogger is both.
type observingLogger struct {
	observingPlugin
	logger loggingPlugin
}

func (p *observingLogger) Log(ctx context.Context, event logs.EventV1) error {
	return p.logger.Log(ctx, event)
}

func newDecisionTestManager(t *testing.T) *plugins.Manager {
	t.Helper()
	m, err := plugins.New([]byte("{}"), "test", inmem.New())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// newWatchingRuntime returns a runtime that watches the plugins of the manager
// already, which it otherwise begins to in a goroutine.
func newWatchingRuntime(m *plugins.Manager) *Runtime {
	rt := &Runtime{Manager: m}
	rt.observers.current.Store(&decisionObserverSet{manager: m, stale: true})
	rt.observers.watch(m)
	return rt
}

// registerStarted registers a plugin as the runtime and discovery do.
func registerStarted(m *plugins.Manager, name string, p plugins.Plugin) {
	m.Register(name, p)
	m.UpdatePluginStatus(name, &plugins.Status{State: plugins.StateOK})
}

// registerDecisionLogs makes the manager's decision logs call the plugin name.
func registerDecisionLogs(t *testing.T, m *plugins.Manager, name string) {
	t.Helper()
	c, err := logs.ParseConfig([]byte(`{"plugin": "`+name+`"}`), nil, []string{name})
	if err != nil {
		t.Fatal(err)
	}
	m.Register(logs.Name, logs.New(c, m))
}

func decide(t *testing.T, rt *Runtime) {
	t.Helper()
	if err := rt.decisionLogger(t.Context(), &server.Info{Path: "a/b"}); err != nil {
		t.Fatal(err)
	}
}

// eventually makes decisions until p observes one, since the runtime watches
// the plugins of a new manager from a goroutine.
func eventually(t *testing.T, rt *Runtime, p *observingPlugin) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); p.observed.Load() == 0; time.Sleep(time.Millisecond) {
		if decide(t, rt); time.Now().After(end) {
			t.Fatal("Expected the plugin to observe a decision")
		}
	}
}

func TestDecisionObserver(t *testing.T) {
	m := newDecisionTestManager(t)
	var p observingPlugin
	m.Register("p", &p)
	m.Register("other", idlePlugin{})
	m.Register("p", &p) // still one observer
	rt := &Runtime{Manager: m}
	decide(t, rt)
	if n := p.observed.Load(); n != 1 || *p.path.Load() != "a/b" {
		t.Errorf("Expected one decision a/b, got %d", n)
	}
}

func TestDecisionObserverRegisteredLater(t *testing.T) {
	m := newDecisionTestManager(t)
	rt := &Runtime{Manager: m}
	decide(t, rt)
	var p, q observingPlugin
	registerStarted(m, "p", &p)
	eventually(t, rt, &p)
	registerStarted(m, "q", &q)
	decide(t, rt)
	if q.observed.Load() != 1 {
		t.Error("Expected the very next decision to be observed")
	}
}

// A status update that comes before the listener is registered is not lost, and
// nothing is searched without one.
func TestDecisionObserverWatch(t *testing.T) {
	m := newDecisionTestManager(t)
	var o decisionObservers
	before := &decisionObserverSet{manager: m}
	o.current.Store(before)
	registerStarted(m, "p", &observingPlugin{})
	if o.of(m) != before {
		t.Error("Expected no search")
	}
	o.watch(m)
	set := o.of(m)
	if len(set.observers) != 1 {
		t.Error("Expected the plugin to be found")
	}
	if o.of(m) != set {
		t.Error("Expected no other search")
	}
	m.UpdatePluginStatus("other", &plugins.Status{State: plugins.StateOK})
	if o.of(m) == set {
		t.Error("Expected another search")
	}
}

// What a search found is not held if the plugins may have changed since it
// began.
func TestDecisionObserverOutdatedSearch(t *testing.T) {
	m, other := newDecisionTestManager(t), newDecisionTestManager(t)
	var o decisionObservers
	begun := &decisionObserverSet{manager: m, stale: true}
	o.current.Store(begun)
	o.invalidate(other)
	if o.current.Load() != begun {
		t.Error("Expected the update of another manager to change nothing")
	}
	o.invalidate(m)
	now := o.current.Load()
	if now == begun || !now.stale {
		t.Error("Expected an invalidation to show, also of what is invalid already")
	}
	o.find(m, begun)
	if o.current.Load() != now {
		t.Error("Expected the outdated search not to be held")
	}
	if o.find(m, now); o.current.Load() == now {
		t.Error("Expected the search to be held")
	}
}

func TestDecisionObserverNewManager(t *testing.T) {
	var old, current, late observingPlugin
	m := newDecisionTestManager(t)
	m.Register("p", &old)
	rt := newWatchingRuntime(m)
	decide(t, rt)

	rt.Manager = newDecisionTestManager(t)
	rt.Manager.Register("p", &current)
	decide(t, rt)
	if old.observed.Load() != 1 || current.observed.Load() != 1 {
		t.Errorf("Expected one decision each, got %d and %d", old.observed.Load(), current.observed.Load())
	}
	m.UpdatePluginStatus("p", &plugins.Status{State: plugins.StateNotReady}) // as it stops
	decide(t, rt)
	if old.observed.Load() != 1 || current.observed.Load() != 2 {
		t.Errorf("Expected the new manager's plugin to be called, got %d and %d", old.observed.Load(), current.observed.Load())
	}
	registerStarted(rt.Manager, "late", &late)
	eventually(t, rt, &late)
}

func TestDecisionObserverTwoRuntimes(t *testing.T) {
	var observers [2]observingPlugin
	var late [2]observingPlugin
	var runtimes [2]*Runtime
	for i := range runtimes {
		runtimes[i] = &Runtime{Manager: newDecisionTestManager(t)}
		runtimes[i].Manager.Register("p", &observers[i])
		decide(t, runtimes[i])
	}
	decide(t, runtimes[0])
	if a, b := observers[0].observed.Load(), observers[1].observed.Load(); a != 2 || b != 1 {
		t.Errorf("Expected 2 and 1 decisions, got %d and %d", a, b)
	}
	for i, rt := range runtimes {
		registerStarted(rt.Manager, "late", &late[i])
	}
	for i, rt := range runtimes {
		eventually(t, rt, &late[i])
	}
}

func TestDecisionObserverAllocations(t *testing.T) {
	for _, observers := range []int{0, 1, 3} {
		m := newDecisionTestManager(t)
		for i := range observers {
			m.Register(strconv.Itoa(i), &observingPlugin{})
		}
		rt := &Runtime{Manager: m}
		ctx, info := t.Context(), &server.Info{}
		if n := testing.AllocsPerRun(1000, func() { _ = rt.decisionLogger(ctx, info) }); n != 0 {
			t.Errorf("%d observers: expected no allocation, got %v", observers, n)
		}
	}
}

func TestDecisionObserved(t *testing.T) {
	m := newDecisionTestManager(t)
	var p, alone observingPlugin
	var logged int
	type key struct{}
	logger := &observingLogger{}
	logger.logger.onLog = func(ctx context.Context) {
		logged++
		if logger.observed.Load() != int64(logged) {
			t.Error("Expected the decision to be observed before it is logged")
		}
		if !DecisionObserved(ctx, logger) || !DecisionObserved(ctx, &p) {
			t.Error("Expected DecisionObserved to tell the observers")
		}
		if DecisionObserved(ctx, &alone) || DecisionObserved(ctx, nil) {
			t.Error("Expected DecisionObserved to tell the observers only")
		}
		if ctx.Value(key{}) != "value" {
			t.Error("Expected the values of the caller's context")
		}
	}
	m.Register("logger", logger)
	m.Register("p", &p)
	registerDecisionLogs(t, m, "logger")
	rt := &Runtime{Manager: m}
	for range 2 {
		logDecision(t, rt, context.WithValue(t.Context(), key{}, "value"))
	}
	if logged != 2 {
		t.Errorf("Expected 2 events, got %d", logged)
	}
	if DecisionObserved(t.Context(), logger) {
		t.Error("Expected nothing to be observed in another context")
	}
}

// valueLogger is both, and a value that cannot be compared.
type valueLogger struct {
	idlePlugin
	observed *int
	onLog    func(context.Context, DecisionObserver)
}

func (p valueLogger) ObserveDecision(context.Context, *server.Info) { *p.observed++ }

func (p valueLogger) Log(ctx context.Context, _ logs.EventV1) error {
	p.onLog(ctx, p)
	return nil
}

// namedObserver is a value that can be compared, unless its name cannot.
type namedObserver struct {
	idlePlugin
	name any
}

func (namedObserver) ObserveDecision(context.Context, *server.Info) {}

// Plugins need not be pointers, nor values that can be compared.
func TestDecisionObservedValues(t *testing.T) {
	m := newDecisionTestManager(t)
	observed, logged := 0, 0
	m.Register("logger", valueLogger{observed: &observed, onLog: func(ctx context.Context, p DecisionObserver) {
		logged++
		for name, o := range map[string]DecisionObserver{
			"p": p, "a": namedObserver{name: "a"}, "list": namedObserver{name: []string{"list"}},
		} {
			if !DecisionObserved(ctx, o) {
				t.Errorf("Expected DecisionObserved to tell the observer %s", name)
			}
		}
		if DecisionObserved(ctx, namedObserver{name: "b"}) || DecisionObserved(ctx, &observingPlugin{}) {
			t.Error("Expected DecisionObserved to tell the observers only")
		}
	}})
	m.Register("a", namedObserver{name: "a"})
	m.Register("list", namedObserver{name: []string{"list"}})
	registerDecisionLogs(t, m, "logger")
	logDecision(t, &Runtime{Manager: m}, t.Context())
	if observed != 1 || logged != 1 {
		t.Errorf("Expected one decision, got %d observed, %d logged", observed, logged)
	}
}

// A decision logger that is registered after the decision was observed.
func TestDecisionObservedLater(t *testing.T) {
	m := newDecisionTestManager(t)
	var p observingPlugin
	m.Register("p", &p)
	registerDecisionLogs(t, m, "logger")
	rt := newWatchingRuntime(m)
	rt.observers.of(m)
	logger := &observingLogger{}
	var known []bool
	logger.logger.onLog = func(ctx context.Context) { known = append(known, DecisionObserved(ctx, logger)) }
	m.Register("logger", logger)
	logDecision(t, rt, t.Context())
	m.UpdatePluginStatus("logger", &plugins.Status{State: plugins.StateOK})
	logDecision(t, rt, t.Context())
	if len(known) != 2 || known[0] || !known[1] || logger.observed.Load() != 1 {
		t.Errorf("Expected the second decision alone to be observed, got %v, %d", known, logger.observed.Load())
	}
}

func TestDecisionNotObserved(t *testing.T) {
	m := newDecisionTestManager(t)
	logger, logged := &loggingPlugin{}, 0
	ctx := t.Context()
	logger.onLog = func(got context.Context) {
		if logged++; got != ctx {
			t.Error("Expected the caller's context")
		}
	}
	m.Register("logger", logger)
	registerDecisionLogs(t, m, "logger")
	logDecision(t, &Runtime{Manager: m}, ctx)
	if logged != 1 {
		t.Errorf("Expected one event, got %d", logged)
	}
}

// logDecision makes a decision in a transaction, as decision logs need it.
func logDecision(t *testing.T, rt *Runtime, ctx context.Context) {
	t.Helper()
	err := storage.Txn(ctx, rt.Manager.Store, storage.TransactionParams{}, func(txn storage.Transaction) error {
		return rt.decisionLogger(ctx, &server.Info{Path: "a/b", Txn: txn})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDecisionObserverConcurrent(t *testing.T) {
	m := newDecisionTestManager(t)
	for i := range 200 { // so that a search takes its time
		m.Register(fmt.Sprintf("other%d", i), idlePlugin{})
	}
	rt := newWatchingRuntime(m)
	var wg sync.WaitGroup
	var ended atomic.Bool
	for range 4 {
		wg.Go(func() {
			for !ended.Load() {
				_ = rt.decisionLogger(t.Context(), &server.Info{})
			}
		})
	}
	for i := range 100 {
		var p observingPlugin
		registerStarted(m, fmt.Sprintf("p%d", i), &p)
		before := p.observed.Load()
		if decide(t, rt); p.observed.Load() == before {
			t.Errorf("Expected plugin %d to observe the next decision", i)
			break
		}
	}
	ended.Store(true)
	wg.Wait()
}

type observingFactory struct{ plugin *observingPlugin }

func (observingFactory) Validate(*plugins.Manager, []byte) (any, error) { return nil, nil }

func (f observingFactory) New(m *plugins.Manager, _ any) plugins.Plugin {
	m.UpdatePluginStatus("decision_observer_test", &plugins.Status{State: plugins.StateOK})
	return f.plugin
}

func TestDecisionObserverServer(t *testing.T) {
	var p observingPlugin
	RegisterPlugin("decision_observer_test", observingFactory{&p})
	params := NewParams()
	params.Addrs = &[]string{"localhost:0"}
	params.GracefulShutdownPeriod = 1
	params.Logger = logging.NewNoOpLogger()
	params.ConfigOverrides = []string{"plugins.decision_observer_test.x=1"}
	ctx, cancel := context.WithCancel(t.Context())
	rt, err := NewRuntime(ctx, params)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- rt.Serve(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	for end := time.Now().Add(10 * time.Second); len(rt.Addrs()) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("Expected the server to start")
		}
	}
	resp, err := http.Post("http://"+rt.Addrs()[0]+"/v1/data/a/b", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n := p.observed.Load(); resp.StatusCode != http.StatusOK || n != 1 || *p.path.Load() != "a/b" {
		t.Errorf("Expected one decision a/b, got %d; status %d", n, resp.StatusCode)
	}
}
