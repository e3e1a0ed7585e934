// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"

	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/server"
)

// Runtime represents a single OPA instance.
type Runtime struct {
	Params  Params
	Store   storage.Store
	Manager *plugins.Manager

	logger            logging.Logger
	requestLogLevel   logging.Level
	consoleLogger     logging.Logger
	server            *server.Server
	metrics           *prometheus.Provider
	versionChecker    versioncheck.Checker
	traceExporter     *otlptrace.Exporter
	meterProvider     *sdkmetric.MeterProvider
	loadedPathsResult *initload.LoadPathsResult

	// serverTracingOpts holds the distributed tracing options that only apply to
	// OPA's own HTTP server, and not to the outbound requests made by plugins or
	// by http.send during evaluation.
	serverTracingOpts tracing.Options

	// The tracing options the caller supplied, kept because configure overwrites
	// Params.DistributedTracingOpts whenever the configuration asks for a tracer.
	// Without this a reload that removes "distributed_tracing" would inherit the
	// tracer built by the configuration before it.
	callerTracingOpts tracing.Options

	// Guards the fields a restart replaces. Manager is exported and so cannot be
	// made safe for callers outside this package, but everything in here reads it
	// through rt.manager().
	stateMtx sync.RWMutex

	// Whether the caller gave us a router. OPA registers its routes on a
	// ServeMux, which panics on a second registration of the same pattern, so a
	// restart needs a fresh one -- which we cannot do to a router we do not own.
	ownRouter bool

	serverStatus  ServerStatus
	serverInitMtx sync.RWMutex
	done          chan struct{}
	repl          *repl.REPL

	// Closed to ask the serve loop to restart. Buffered by one: a second change
	// arriving while a restart is already pending needs no second restart.
	restartc chan struct{}

	// appliedConfig is the configuration in effect and lastConfig the one most
	// recently read from disk; they differ while a reload is failing.
	// previousConfig is what to fall back to when a restart cannot come up under
	// appliedConfig.
	appliedConfig  []byte
	previousConfig []byte
	lastConfig     []byte
	configMtx      sync.Mutex

	// Non-nil once the configuration file watcher is running.
	configWatcherStop chan struct{}
	configWatcherDone chan struct{}

	// The plugins that see each decision, see DecisionObserver.
	observers decisionObservers
}

func (rt *Runtime) decisionLogger(ctx context.Context, event *server.Info) error {
	manager := rt.manager()
	observers := rt.observers.of(manager)
	observers.observe(ctx, event)

	plugin := logs.Lookup(manager)
	if plugin == nil {
		return nil
	}

	return plugin.Log(observers.mark(ctx), event)
}
