// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

// lookupDecisionLogger returns a function that returns the decision logger, or
// nil if decisions are not logged. A new configuration can change that. The
// logger looks up the plugin again when it is called, since a restart replaces
// the plugin.
func (rt *Runtime) lookupDecisionLogger() func() func(context.Context, *server.Info) error {
	logger := rt.decisionLogger // a method value, which would be allocated for each request
	return func() func(context.Context, *server.Info) error {
		if logs.Lookup(rt.manager()) == nil {
			return nil
		}
		return logger
	}
}
