// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/storage"

	"github.com/regometer/regometer/rollup"
)

// Name is what the plugin is called in OPA's configuration.
const Name = "regometer"

// A Factory makes plugins: it is what OPA's runtime and its SDK are given.
type Factory struct {
	// Registerer is where the metrics are registered if OPA has no registry of
	// its own, which is so under the SDK. Plugins on one registry share what
	// they count.
	Registerer prometheus.Registerer
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
		config:   config.(*Config),
	}
	m.RegisterCompilerTrigger(func(storage.Transaction) { p.refresh() })
	m.UpdatePluginStatus(Name, &plugins.Status{State: plugins.StateNotReady})
	return p
}

// A Plugin is a decision logger for OPA that folds each decision into
// Prometheus metrics. [Factory.New] makes it; its methods may be called from
// any goroutine.
type Plugin struct {
	manager  *plugins.Manager
	registry prometheus.Registerer // may be nil
	logger   logging.Logger

	mu      sync.Mutex // held while the fields below are changed
	config  *Config
	started bool
	state   *state

	active atomic.Pointer[active] // nil before Start
	// activating is held while active is replaced. Of the manager nothing but
	// GetCompiler is called meanwhile, since refresh may be called with the
	// manager locked.
	activating sync.Mutex

	seldom [len(causes)]seldom // limits what Log writes to the logger
}

// An active is all that Log needs. It does not change but is replaced.
type active struct {
	state  *state
	labels *labels
	next   *next // nil = none
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
	p.manager.UpdatePluginStatus(Name, &plugins.Status{State: plugins.StateOK})
	return nil
}

func (p *Plugin) start() error {
	next, err := newNext(p.manager, p.config.Next)
	if err != nil {
		return err
	}
	s, err := stateOf(p.registry)
	if err != nil {
		return err
	}
	if err := s.start(p.config); err != nil {
		return err
	}
	p.state = s
	p.activate(next)
	return nil
}

// activate makes Log work by p.config from now on.
func (p *Plugin) activate(next *next) {
	p.activating.Lock()
	defer p.activating.Unlock()
	p.active.Store(&active{p.state, newLabels(p.config.Paths, p.manager.GetCompiler()), next})
}

// refresh takes over the rules of the policy that is active now. OPA calls it
// when it activates a policy, in some releases with its manager locked.
func (p *Plugin) refresh() {
	p.activating.Lock()
	defer p.activating.Unlock()
	if a := p.active.Load(); a != nil {
		p.active.Store(&active{a.state, newLabels(a.labels.paths, p.manager.GetCompiler()), a.next})
	}
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
	p.state.stop()
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
	next, err := newNext(p.manager, c.Next)
	if err == nil {
		err = p.state.reconfigure(c)
	}
	if err != nil {
		p.logger.Error("The new configuration cannot be carried out: %v.", err)
		p.manager.UpdatePluginStatus(Name, &plugins.Status{State: plugins.StateErr, Message: err.Error()})
		return
	}
	p.config = c
	p.activate(next)
	p.warn()
	p.manager.UpdatePluginStatus(Name, &plugins.Status{State: plugins.StateOK})
}

// Log records a decision and hands it on to the next plugin. It always returns
// nil: an error would fail the request. What goes wrong is logged, each cause
// once a minute at most, and counted by
// <namespace>_decision_plugin_failures_total.
//
// It keeps nothing of the event, and changes nothing in it.
func (p *Plugin) Log(ctx context.Context, event logs.EventV1) error {
	a := p.active.Load()
	if a == nil {
		return nil
	}
	p.record(a, &event)
	if a.next != nil {
		p.handOn(ctx, a, event)
	}
	return nil
}

func (p *Plugin) record(a *active, event *logs.EventV1) {
	defer p.recovered(a, causePanic)
	label, ok := a.labels.of(event)
	if !ok {
		label = rollup.Other
		p.checkCompiler(a)
	}
	a.state.add(label, outcomeOf(event), event.Metrics)
}

// checkCompiler refreshes the rules if OPA has replaced its compiler without
// saying so, as it does when rules come from an external source.
func (p *Plugin) checkCompiler(a *active) {
	if a.labels.paths.FromPolicy && a.labels.compiler != p.manager.GetCompiler() {
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
	a.state.failures[cause].Add(1)
	if ok, omitted := p.seldom[cause].now(); ok {
		what := "An event could not be recorded"
		if cause == causeNext {
			what = fmt.Sprintf("The plugin %q, next after %s, did not take an event", a.next.name, Name)
		}
		p.logger.Error("%s: %v. %d earlier failures were not logged.", what, err, omitted)
	}
}

// warn tells of settings under which decisions do not go where an operator
// might think.
func (p *Plugin) warn() {
	if p.registry == nil {
		p.logger.Warn("Nothing is exported: this OPA has no Prometheus registry. Under the SDK, give one to the plugin's Factory.")
	}
	text, err := decisionLogs(p.manager)
	if err != nil {
		return // OPA itself refuses it
	}
	var c struct {
		Plugin  *string `json:"plugin"`
		Service string  `json:"service"`
		Console bool    `json:"console"`
	}
	if len(text) > 0 && json.Unmarshal(text, &c) != nil {
		return
	}
	if c.Plugin == nil || *c.Plugin != Name {
		hint := fmt.Sprintf("Set decision_logs.plugin to %q", Name)
		if c.Plugin != nil {
			hint += fmt.Sprintf(", and plugins.%s.next to %q to keep that plugin", Name, *c.Plugin)
		}
		p.logger.Warn("The plugin sees no decisions, since decision_logs.plugin does not name it. %s.", hint)
		return
	}
	if services := p.manager.Services(); c.Service == "" && len(services) > 0 && !c.Console {
		slices.Sort(services)
		p.logger.Warn("Decisions are not uploaded: a plugin in decision_logs.plugin switches the upload to a default service off. "+
			"To upload them as well, set decision_logs.service, to %s.", strings.Join(services, " or "))
	}
}

// decisionLogs returns the configuration of decision logs, in JSON.
func decisionLogs(m *plugins.Manager) (json.RawMessage, error) {
	c := configOf(m)
	if c == nil {
		return nil, errors.New("no configuration")
	}
	return c.DecisionLogs, nil
}
