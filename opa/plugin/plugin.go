// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
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

	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/opa/internal/hook"
	"github.com/regometer/regometer/rollup"
)

// A Factory makes plugins. Programs pass it to OPA's runtime or SDK.
type Factory struct {
	// Registerer registers the metrics if OPA has no registry of its own, as
	// under the SDK. Plugins on the same registry share their counts, but each
	// has its own labels.
	Registerer prometheus.Registerer

	// Build is nil, except in a binary of `regometer build`. Only package
	// register can set it.
	Build *hook.Build
}

var _ plugins.Factory = Factory{}

// Validate reads the plugin's configuration, which is JSON, and returns it for
// New. It fails if a key or value is invalid. The error names the key and what is
// allowed.
func (Factory) Validate(m *plugins.Manager, config []byte) (any, error) {
	c, err := parseConfig(config)
	if err != nil {
		return nil, err
	}
	if err := checkConfigured(m, c.Next); err != nil {
		return nil, err
	}
	return c, nil
}

// New returns a plugin with a configuration from Validate.
func (f Factory) New(m *plugins.Manager, config any) plugins.Plugin {
	p := &Plugin{
		manager:  m,
		registry: cmp.Or(m.PrometheusRegister(), f.Registerer),
		logger:   m.Logger().WithFields(map[string]any{"plugin": Name}),
		config:   config.(*settings),
	}
	if f.Build != nil {
		p.build = *f.Build
	}
	m.RegisterCompilerTrigger(func(storage.Transaction) { p.refresh() })
	// OPA calls this trigger after each change of its configuration. It does
	// not tell the plugin if discovery brings a configuration without it. The
	// manager is locked during the call, so warn runs in its own goroutine.
	m.RegisterCacheTrigger(func(*cache.Config) {
		go func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.started {
				p.warn()
			}
		}()
	})
	m.UpdatePluginStatus(Name, &plugins.Status{State: plugins.StateNotReady})
	return p
}

// A Plugin folds each decision of an OPA into Prometheus metrics. [Factory.New]
// makes it. All methods may be called from any goroutine.
//
// It is a decision logger. OPA calls Log with each event if
// decision_logs.plugin names the plugin. An OPA from `regometer build` calls
// ObserveDecision with every decision, whatever is logged.
type Plugin struct {
	manager  *plugins.Manager
	registry prometheus.Registerer // may be nil
	logger   logging.Logger
	build    hook.Build

	mu      sync.Mutex // protects the next three fields
	config  *settings
	started bool
	warned  [2]string // the last warnings about the configuration

	active atomic.Pointer[active] // nil before the first start

	rare [len(causes)]rateLimiter // limits the log lines about failures
}

// An active is the part of a plugin that a decision needs. It does not change,
// because a new active replaces it.
type active struct {
	recorder *recorder
	next     string // the name of the next logger plugin, or "" if there is none
	verdicts *verdicts.Set
}

var _ logs.Logger = (*Plugin)(nil)

// Start registers the metrics. It fails if other metrics with these names are
// registered, or if the next plugin is not a decision logger.
func (p *Plugin) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started {
		return nil
	}
	if err := p.use(p.config); err != nil {
		return fmt.Errorf("plugin %s: %w", Name, err)
	}
	return nil
}

// use applies a configuration, and starts the plugin if necessary. If this
// fails, the plugin stays as it is, and its status has the reason. The caller
// holds p.mu.
func (p *Plugin) use(c *settings) (err error) {
	defer func() {
		status := plugins.Status{State: plugins.StateOK}
		if err != nil {
			status = plugins.Status{State: plugins.StateErr, Message: err.Error()}
		}
		p.manager.UpdatePluginStatus(Name, &status)
	}()
	if err := checkLogger(p.manager, c.Next); err != nil {
		return err
	}
	var r *recorder
	if p.started {
		r = p.active.Load().recorder
	} else {
		s, err := stateOf(p.registry, buildInfo(p.build.Version, version.Version, p.build.DropIn))
		if err != nil {
			return err
		}
		r = &recorder{
			state: s, rules: p.manager.GetCompiler,
			revisions: func() []revision { return revisionsOf(p.manager) },
			info:      func(text string) { p.logger.Info("%s", text) },
			warn:      func(text string) { p.logger.Warn("%s", text) },
		}
	}
	if err := r.configure(c); err != nil {
		return err
	}
	if p.config = c; !p.started {
		p.started = true
		hook.Started.Add(1)
	}
	p.active.Store(&active{r, c.Next, c.verdicts})
	p.refresh() // OPA may have activated a policy since configure read the rules
	p.warn()
	return nil
}

// warn logs a warning if decisions or metrics do not go where an operator may
// expect them. It does not repeat a warning while nothing changes. The caller
// holds p.mu.
func (p *Plugin) warn() {
	now := warnings(p.manager, p.config, &p.build, p.registry != nil)
	for i, text := range now {
		if text != "" && text != p.warned[i] {
			p.logger.Warn("%s", text)
		}
	}
	p.warned = now
}

// refresh updates the labels to the rules of the active policy. OPA calls it
// when it activates a policy. Some releases lock the manager during the call,
// so refresh calls only the manager's GetCompiler.
func (p *Plugin) refresh() {
	if a := p.active.Load(); a != nil {
		a.recorder.relabel()
	}
}

// Stop unregisters the metrics, unless another plugin uses the registry. The
// registry keeps the counts for the next plugin.
func (p *Plugin) Stop(context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started {
		return
	}
	p.started = false
	hook.Started.Add(-1)
	p.active.Load().recorder.stop()
	p.manager.UpdatePluginStatus(Name, &plugins.Status{State: plugins.StateNotReady})
}

// Reconfigure applies a configuration from Validate. If this fails, the plugin
// keeps its old configuration, and its status and the log have the reason.
func (p *Plugin) Reconfigure(_ context.Context, config any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := config.(*settings)
	if !p.started {
		p.config = c
	} else if err := p.use(c); err != nil {
		p.logger.Error("The plugin keeps its old configuration, because it cannot use the new one: %v.", err)
	}
}

// ObserveDecision records a decision of OPA's server. It neither keeps nor
// changes info.
func (p *Plugin) ObserveDecision(ctx context.Context, info *server.Info) {
	p.Observe(ctx, info.Path, info.Query, info.Results, info.Error, info.Metrics)
}

// Observe does what [Plugin.ObserveDecision] does, for callers without a
// server.Info. query is "" except for POST /v1/query. result is nil if the
// decision is undefined or failed. m may be nil.
func (p *Plugin) Observe(_ context.Context, path, query string, result *any, err error, m metrics.Metrics) {
	a := p.active.Load()
	if a == nil {
		return
	}
	defer p.recoverPanic(a, causePanic)
	d := decision{source: fromServer, query: query}
	d.Path = path
	d.Outcome, d.Code = outcomeOf(verdictOf(a.verdicts, path, query), err, result, query)
	p.record(a, &d, func(dst []rollup.Number) []rollup.Number {
		switch {
		case m == nil:
			return dst
		case p.build.Numbers == nil:
			return appendNumbers(dst, m.All())
		}
		return p.build.Numbers(dst, m)
	})
}

// appendNumbers appends the timers and counters among the metrics of a decision,
// as OPA's decision log has them.
func appendNumbers(dst []rollup.Number, all map[string]any) []rollup.Number {
	for key, value := range all {
		switch n := value.(type) {
		case int64:
			dst = append(dst, rollup.Number{Key: key, Value: n})
		case uint64:
			dst = append(dst, rollup.Number{Key: key, Value: int64(n)}) // below 0 if it is too large, and then invalid
		}
	}
	return dst
}

// numberBuffers holds buffers for the metrics of a decision.
var numberBuffers = sync.Pool{New: func() any { b := make([]rollup.Number, 0, 32); return &b }}

// maxNumbers limits the length of the buffers that the pool keeps.
const maxNumbers = 256

// Log records a decision, unless ObserveDecision has already recorded it. Then
// it passes the event to the next plugin. It always returns nil, because an
// error would fail the request. It counts failures in
// <namespace>_decision_plugin_failures_total. It logs each cause of failures at
// most once a minute.
//
// It neither keeps nor changes the event.
func (p *Plugin) Log(ctx context.Context, event logs.EventV1) error {
	a := p.active.Load()
	if a == nil {
		return nil
	}
	a.recorder.state.logged.Add(1)
	if p.build.Observed == nil || !p.build.Observed(ctx) {
		p.recordEvent(a, &event)
	}
	if a.next != "" {
		p.handOn(ctx, a, event)
	}
	return nil
}

func (p *Plugin) recordEvent(a *active, event *logs.EventV1) {
	defer p.recoverPanic(a, causePanic)
	d := decision{source: fromLog, query: event.Query}
	d.Path = event.Path
	d.Outcome, d.Code = loggedOutcomeOf(verdictOf(a.verdicts, event.Path, event.Query), event)
	p.record(a, &d, func(dst []rollup.Number) []rollup.Number { return appendNumbers(dst, event.Metrics) })
}

// record records a decision with the numbers that numbers appends.
func (p *Plugin) record(a *active, d *decision, numbers func(dst []rollup.Number) []rollup.Number) {
	buffer := numberBuffers.Get().(*[]rollup.Number)
	*buffer = numbers((*buffer)[:0])
	d.Numbers = *buffer
	known := a.recorder.record(d)
	if cap(*buffer) <= maxNumbers {
		clear(*buffer) // the names belong to the collection
		numberBuffers.Put(buffer)
	}
	if known {
		return
	}
	// The path is unknown. When rules come from an external source, OPA
	// replaces its compiler without calling the trigger.
	if l := a.recorder.labels.Load(); l.paths.FromPolicy && l.compiler != p.manager.GetCompiler() {
		p.refresh()
	}
}

func (p *Plugin) handOn(ctx context.Context, a *active, event logs.EventV1) {
	defer p.recoverPanic(a, causeNext)
	if err := logTo(ctx, p.manager, a.next, event); err != nil {
		p.reportFailure(a, causeNext, err)
	}
}

// recoverPanic ends a panic, and reports it as a failure. Callers must defer
// it.
func (p *Plugin) recoverPanic(a *active, cause int) {
	if r := recover(); r != nil {
		p.reportFailure(a, cause, fmt.Errorf("panic: %v", r))
	}
}

// reportFailure counts a failure, and logs it at most once a minute.
func (p *Plugin) reportFailure(a *active, cause int, err error) {
	a.recorder.state.failures[cause].Add(1)
	if p.rare[cause].allow() {
		what := "A decision could not be recorded"
		if cause == causeNext {
			what = fmt.Sprintf("The plugin %q, named by %s.next, did not take an event", a.next, configPath)
		}
		p.logger.Error("%s: %v.", what, err)
	}
}
