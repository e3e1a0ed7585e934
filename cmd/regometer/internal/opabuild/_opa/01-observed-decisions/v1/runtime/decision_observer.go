// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"

	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/server"
)

// ObserveDecision, unless it is nil, gets each decision of the server in the
// goroutine of the request, whether or not decision logs are configured. It
// must neither change nor keep what it gets. It reports whether a plugin has
// seen the decision.
var ObserveDecision func(context.Context, *plugins.Manager, *server.Info) bool

type decisionObservedKey struct{}

// DecisionObserved reports whether ObserveDecision showed a plugin the decision
// that is logged with ctx.
func DecisionObserved(ctx context.Context) bool { return ctx.Value(decisionObservedKey{}) != nil }

func observeDecision(ctx context.Context, manager *plugins.Manager, event *server.Info) context.Context {
	if ObserveDecision != nil && ObserveDecision(ctx, manager, event) {
		return context.WithValue(ctx, decisionObservedKey{}, true)
	}
	return ctx
}
