// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import "github.com/open-policy-agent/opa/v1/metrics"

// Decision returns the hooks that observe decisions. Keep them, instead of
// walking through all hooks for each decision.
func (hs Hooks) Decision() []DecisionHook {
	var found []DecisionHook
	for h := range hs.m {
		if h, ok := h.(DecisionHook); ok {
			found = append(found, h)
		}
	}
	return found
}

// DecisionHook allows observing decisions, whether or not they are logged. Use
// it for metrics and the like. A decision log's plugin gets more, such as the
// input, and only what the drop and mask policies leave.
//
// The server calls the hooks of its runtime for the decisions of its data, query
// and compile APIs. The SDK calls those of its own options, and none that are
// registered with the runtime. Programs that evaluate by themselves, such as
// opa-envoy-plugin, call no hook: their decisions come by the decision log only.
//
// A plugin is made after the hooks are collected. To observe decisions, a plugin
// registers a hook in an init function, which finds the plugin by
// Decision.Manager.
//
// As all hooks are in a map, a hook must be comparable, such as a pointer, or
// else New and Append panic.
type DecisionHook interface {
	// WantsDecision reports whether OnDecision is to be called for the decision
	// of a request that begins. It is called once for each request. If no hook
	// wants a decision and nobody logs it, its metrics are not collected.
	WantsDecision() bool

	// OnDecision is called in the goroutine of the request, before the response
	// is written (the compile API writes it first). It must neither change nor
	// keep what the decision refers to.
	OnDecision(context.Context, Decision)
}

// Decision is what a DecisionHook observes.
type Decision struct {
	Manager    any    // the *plugins.Manager, which this package cannot import
	DecisionID string // empty in `opa run` without a decision log, and for the compile API
	Path       string // of the requested document; empty for the query API
	Query      string // empty for documents
	Result     *any   // nil if undefined
	Error      error
	Metrics    metrics.Metrics
}

type decisionObservedKey struct{}

// WithDecisionObserved returns a context for logging a decision that hooks have
// observed.
func WithDecisionObserved(ctx context.Context) context.Context {
	return context.WithValue(ctx, decisionObservedKey{}, true)
}

// DecisionObserved reports whether hooks have observed the decision that is
// logged with ctx. A plugin that has a hook and is also a decision logger counts
// each decision once by it.
func DecisionObserved(ctx context.Context) bool {
	return ctx.Value(decisionObservedKey{}) != nil
}
