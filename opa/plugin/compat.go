// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	opaconfig "github.com/open-policy-agent/opa/v1/config"
	"github.com/open-policy-agent/opa/v1/plugins"
)

// configOf returns OPA's current configuration. OPA 1.0 has only the field
// Config, which later releases deprecate.
func configOf(m *plugins.Manager) *opaconfig.Config {
	if m, ok := any(m).(interface{ GetConfig() *opaconfig.Config }); ok {
		return m.GetConfig()
	}
	return m.Config
}
