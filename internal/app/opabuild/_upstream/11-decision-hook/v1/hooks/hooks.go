// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"fmt"
	"github.com/open-policy-agent/opa/v1/metrics"
	topdown_cache "github.com/open-policy-agent/opa/v1/topdown/cache"
)

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

// DecisionHook allows observing decisions: those of the server's data, query and
// compile APIs, and those of the SDK, whether or not they are logged. Use it for
// metrics and the like. A decision log's plugin gets more, such as the input, and
// only what the drop and mask policies leave.
//
// A plugin is made after the hooks are collected. To observe decisions, a plugin
// registers a hook in an init function, which finds the plugin by
// Decision.Manager.
type DecisionHook interface {
	// WantsDecision reports whether OnDecision is to be called for the decision
	// that begins. It is called once for each. If no hook wants a decision and
	// nobody logs it, its metrics are not collected.
	WantsDecision() bool

	// OnDecision is called before the response is written. It must not keep the
	// decision's metrics.
	OnDecision(context.Context, Decision)
}

// Decision is what a DecisionHook observes.
type Decision struct {
	Manager    any    // the *plugins.Manager, which this package cannot import
	DecisionID string // empty without a decision log
	Path       string // of the requested document; empty for queries
	Query      string // empty for documents
	Result     *any   // nil if undefined
	Error      error
	Metrics    metrics.Metrics
}

func (hs Hooks) Validate() error {
	for h := range hs.m {
		switch h.(type) {
		case InterQueryCacheHook,
			InterQueryValueCacheHook,
			ConfigHook,
			ConfigDiscoveryHook,
			BundlePreActivateHook,
			DecisionHook: // OK
		default:
			return fmt.Errorf("unknown hook type %T", h)
		}
	}
	return nil
}
