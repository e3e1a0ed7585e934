// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package register registers the plugin regometer with OPA's runtime. A program
// that builds its own OPA only needs to import it:
//
//	import _ "github.com/regometer/regometer/opa/plugin/register"
//
// The plugin does nothing until it is configured, see package plugin. The
// import also replaces OPA's http.send, see [plugin.CountHTTPSend]. This stays
// so. The names of this package are for generated code: no promise is made for
// them.
package register

import (
	"context"

	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/runtime"

	"github.com/regometer/regometer/opa/internal/hook"
	"github.com/regometer/regometer/opa/plugin"
	"github.com/regometer/regometer/rollup"
)

func init() {
	plugin.CountHTTPSend()
	runtime.RegisterPlugin(plugin.Name, plugin.Factory{})
}

// Factory returns the plugin's factory for a binary of `regometer build`, with
// Regometer's version and the hash of the drop-in. numbers appends the timers
// and counters of a collection to dst. observed reports whether the plugin has
// already got the decision for which OPA calls Log with ctx. It is nil if
// decisions come only by Log.
//
// Factory is for generated code: no promise.
func Factory(version, dropIn string, numbers func(dst []rollup.Number, m metrics.Metrics) []rollup.Number,
	observed func(ctx context.Context) bool) plugin.Factory {
	return plugin.Factory{Build: &hook.Build{Version: version, DropIn: dropIn, Numbers: numbers, Observed: observed}}
}

// Active reports whether any plugin of this process is started. OPA's hook asks
// it whether a plugin needs a decision.
//
// Active is for generated code: no promise.
func Active() bool { return hook.Started.Load() > 0 }
