// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/server"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/topdown/cache"
	"github.com/open-policy-agent/opa/v1/version"

	"github.com/regometer/regometer/rollup"
)

// Name is what the plugin is called in OPA's configuration.
const Name = "regometer"

// A Factory makes plugins: it is what OPA's runtime and its SDK are given.
//
// Numbers, Observed and Build are filled in by the program that has them: the
// binary of `regometer build`.
type Factory struct {
	// Registerer is where the metrics are registered if OPA has no registry of
	// its own, which is so under the SDK. Plugins on one registry share what
	// they count; each gives its own labels.
	Registerer prometheus.Registerer

	// Numbers appends the timers and counters of a collection to dst. nil: they
	// are taken from the map that its All returns.
	Numbers func(dst []rollup.Number, m metrics.Metrics) []rollup.Number

	// Observed reports whether p has been handed the decision, by
	// ObserveDecision, that Log is called for with ctx. nil: decisions come by
	// Log alone.
	Observed func(ctx context.Context, p *Plugin) bool

	// Build is what regometer_build_info says.
	Build Build
}

// Build says what a program is made of.
type Build struct {
	Version string // of Regometer. "": of the module in the program's build information
	OPA     string // version of OPA. "": the one that is imported
	DropIn  string // hash of the drop-in, "" without
}

var _ plugins.Factory = Factory{}

// Validate reads the plugin's configuration, in JSON, and returns a [*Config].
// The error names every key that is wrong and what is allowed.
func (Factory) Validate(m *plugins.Manager, config []byte) (any, error) {
	c, err := parseConfig(config)
	if err != nil {
		return nil, err
	}
	if err := checkNext(m, c.Next); err != nil {
		return nil, err
	}
	return c, nil
}

// New returns a plugin with a configuration that Validate returned.
func (f Factory) New(m *plugins.Manager, config any) plugins.Plugin {
	registry := m.PrometheusRegister()
	if registry == nil {
		registry = f.Registerer
	}
	p := &Plugin{
		manager:  m,
		registry: registry,
		logger:   m.Logger().WithFields(map[string]any{"plugin": Name}),
		numbers:  f.Numbers,
		observed: f.Observed,
		build:    f.Build.complete(),
		config:   config.(*Config),

		reconfigured: make(chan struct{}, 1),
	}
	m.RegisterCompilerTrigger(func(storage.Transaction) { p.refresh() })
	// This one is called whenever OPA's configuration was changed, with the
	// manager locked.
	m.RegisterCacheTrigger(func(*cache.Config) {
		select {
		case p.reconfigured <- struct{}{}:
		default:
		}
	})
	m.UpdatePluginStatus(Name, &plugins.Status{State: plugins.StateNotReady})
	return p
}

// complete fills in what is known here.
func (b Build) complete() Build {
	if b.OPA == "" {
		b.OPA = version.Version
	}
	if b.Version == "" {
		b.Version = "devel"
		if info, ok := debug.ReadBuildInfo(); ok {
			b.Version = versionIn(info)
		}
	}
	return b
}

// versionIn returns this module's version in a program, "devel" if it is none
// that was released.
func versionIn(info *debug.BuildInfo) string {
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "github.com/regometer/regometer/opa" && m.Replace == nil && m.Version != "" && m.Version != "(devel)" {
			return m.Version
		}
	}
	return "devel"
}

// A Plugin folds each decision of an OPA into Prometheus metrics. [Factory.New]
// makes it; its methods may be called from any goroutine.
//
// It is a decision logger, and gets events by Log if the configuration names it
// in decision_logs.plugin. An OPA that `regometer build` made hands it every
// decision by ObserveDecision, whatever is logged.
type Plugin struct {
	manager  *plugins.Manager
	registry prometheus.Registerer // may be nil
	logger   logging.Logger
	numbers  func([]rollup.Number, metrics.Metrics) []rollup.Number
	observed func(context.Context, *Plugin) bool
	build    Build

	mu      sync.Mutex // held while the fields below are changed
	config  *Config
	started bool
	warned  string // the last warning about the configuration
	ended   chan struct{}

	active       atomic.Pointer[active] // nil before the first start
	told         atomic.Pointer[string] // what was logged last about the labels
	reconfigured chan struct{}          // OPA's configuration has changed

	rare [len(causes)]rateLimiter // limits what is logged of failures
}

// An active is all that a decision needs of a plugin. It does not change but is
// replaced.
type active struct {
	recorder *recorder
	next     *next // nil = none
}

var _ logs.Logger = (*Plugin)(nil)

// Start registers the metrics. It fails if metrics of these names are
// registered already, or if the next plugin is no logger.
func (p *Plugin) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started {
		return nil
	}
	if err := p.start(); err != nil {
		p.manager.UpdatePluginStatus(Name, &plugins.Status{State: plugins.StateErr, Message: err.Error()})
		return fmt.Errorf("plugin %s: %w", Name, err)
	}
	p.started = true
	p.warn()
	p.watch()
	p.manager.UpdatePluginStatus(Name, &plugins.Status{State: plugins.StateOK})
	return nil
}

func (p *Plugin) start() error {
	next, err := newNext(p.manager, p.config.Next)
	if err != nil {
		return err
	}
	s, err := stateOf(p.registry, p.build)
	if err != nil {
		return err
	}
	r := &recorder{state: s, rules: p.manager.GetCompiler}
	if err := r.configure(p.config); err != nil {
		return err
	}
	p.active.Store(&active{r, next})
	p.refresh() // a policy that was activated meanwhile found nothing to refresh
	return nil
}

// refresh takes over the rules of the policy that is active now. OPA calls it
// when it activates a policy, in some releases with its manager locked: of the
// manager nothing but GetCompiler is called.
func (p *Plugin) refresh() {
	if a := p.active.Load(); a != nil {
		a.recorder.relabel()
		p.tell(a)
	}
}

// tell logs which paths share a label, once.
func (p *Plugin) tell(a *active) {
	text := a.recorder.current().counts.String()
	if before := p.told.Swap(&text); text == "" || before != nil && *before == text {
		return
	}
	p.logger.Info("%s", text)
}

// Stop unregisters the metrics. What was counted is kept in the registry for
// the next plugin.
func (p *Plugin) Stop(context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started {
		return
	}
	p.started = false
	close(p.ended)
	p.active.Load().recorder.stop()
	p.manager.UpdatePluginStatus(Name, &plugins.Status{State: plugins.StateNotReady})
}

// Reconfigure takes over a configuration that Validate returned. If it cannot
// be carried out the plugin goes on with the one before, and its status says
// why.
func (p *Plugin) Reconfigure(_ context.Context, config any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := config.(*Config)
	if !p.started {
		p.config = c
		return
	}
	a := p.active.Load()
	next, err := newNext(p.manager, c.Next)
	if err == nil {
		err = a.recorder.configure(c)
	}
	if err != nil {
		p.logger.Error("The new configuration cannot be carried out: %v.", err)
		p.manager.UpdatePluginStatus(Name, &plugins.Status{State: plugins.StateErr, Message: err.Error()})
		return
	}
	p.config = c
	p.active.Store(&active{a.recorder, next})
	p.refresh() // as in start
	p.warn()
	p.manager.UpdatePluginStatus(Name, &plugins.Status{State: plugins.StateOK})
}

// ObserveDecision records a decision of OPA's server. It keeps nothing of info,
// and changes nothing in it.
func (p *Plugin) ObserveDecision(_ context.Context, info *server.Info) {
	a := p.active.Load()
	if a == nil {
		return
	}
	defer p.recovered(a, causePanic)
	d := decision{source: fromServer, path: info.Path, query: info.Query}
	d.outcome, d.code = outcomeOf(info.Error, info.Results, info.Query)
	switch {
	case info.Metrics == nil:
		p.record(a, &d, nil, nil)
	case p.numbers == nil:
		p.record(a, &d, nil, info.Metrics.All())
	default:
		buffer := numberBuffers.Get().(*[]rollup.Number)
		*buffer = p.numbers((*buffer)[:0], info.Metrics)
		p.record(a, &d, *buffer, nil)
		if cap(*buffer) <= maxNumbers {
			clear(*buffer) // the names are the collection's
			numberBuffers.Put(buffer)
		}
	}
}

// numberBuffers have room for the metrics of a decision.
var numberBuffers = sync.Pool{New: func() any { b := make([]rollup.Number, 0, 32); return &b }}

// maxNumbers is how long a buffer may be to be kept.
const maxNumbers = 256

// Log records a decision, unless it came by ObserveDecision, and hands it on to
// the next plugin. It always returns nil: an error would fail the request. What
// goes wrong is logged, each cause once a minute at most, and counted by
// <namespace>_decision_plugin_failures_total.
//
// It keeps nothing of the event, and changes nothing in it.
func (p *Plugin) Log(ctx context.Context, event logs.EventV1) error {
	a := p.active.Load()
	if a == nil {
		return nil
	}
	if p.observed == nil || !p.observed(ctx, p) {
		p.recordEvent(a, &event)
	}
	if a.next != nil {
		p.handOn(ctx, a, event)
	}
	return nil
}

func (p *Plugin) recordEvent(a *active, event *logs.EventV1) {
	defer p.recovered(a, causePanic)
	d := decision{source: fromLog, path: event.Path, query: event.Query}
	d.outcome, d.code = loggedOutcomeOf(event)
	p.record(a, &d, nil, event.Metrics)
}

func (p *Plugin) record(a *active, d *decision, numbers []rollup.Number, metrics map[string]any) {
	if a.recorder.record(d, numbers, metrics) {
		return
	}
	// OPA may have replaced its compiler without saying so, as it does when
	// rules come from an external source.
	if l := a.recorder.current(); l.paths.FromPolicy && l.compiler != p.manager.GetCompiler() {
		p.refresh()
	}
}

func (p *Plugin) handOn(ctx context.Context, a *active, event logs.EventV1) {
	defer p.recovered(a, causeNext)
	if err := a.next.log(ctx, event); err != nil {
		p.failed(a, causeNext, err)
	}
}

// recovered is deferred: it ends a panic.
func (p *Plugin) recovered(a *active, cause int) {
	if r := recover(); r != nil {
		p.failed(a, cause, fmt.Errorf("panic: %v", r))
	}
}

func (p *Plugin) failed(a *active, cause int, err error) {
	a.recorder.state.failures[cause].Add(1)
	if ok, omitted := p.rare[cause].allow(); ok {
		what := "A decision could not be recorded"
		if cause == causeNext {
			what = fmt.Sprintf("The plugin %q, next after %s, did not take an event", a.next.name, Name)
		}
		p.logger.Error("%s: %v. %d earlier failures were not logged.", what, err, omitted)
	}
}
