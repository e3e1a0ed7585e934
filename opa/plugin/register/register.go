// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package register makes Regometer's plugin known to OPA's runtime. Importing
// it is all that a program needs which builds its own opa:
//
//	import _ "github.com/regometer/regometer/opa/plugin/register"
//
// The plugin does nothing until it is configured: see package plugin.
package register

import (
	"github.com/open-policy-agent/opa/v1/runtime"

	"github.com/regometer/regometer/opa/plugin"
)

func init() { runtime.RegisterPlugin(plugin.Name, plugin.Factory{}) }
