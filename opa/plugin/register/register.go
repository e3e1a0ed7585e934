// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package register registers Regometer's plugin with OPA's runtime. A program
// that builds its own OPA only needs to import it:
//
//	import _ "github.com/regometer/regometer/opa/plugin/register"
//
// The plugin does nothing until it is configured, see package plugin. The
// import also replaces OPA's http.send, see [plugin.CountHTTPSend].
package register

import (
	"github.com/open-policy-agent/opa/v1/runtime"

	"github.com/regometer/regometer/opa/plugin"
)

func init() {
	plugin.CountHTTPSend()
	runtime.RegisterPlugin(plugin.Name, plugin.Factory{})
}
