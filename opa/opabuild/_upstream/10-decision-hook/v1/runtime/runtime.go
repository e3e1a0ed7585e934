// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"

	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/server"
)

type Runtime struct {
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
