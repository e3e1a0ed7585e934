// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command extauthz is OPA with a second server, for Envoy's external
// authorization (ext_authz). It is an example of programs with OPA inside that
// have their own decision path, like opa-envoy-plugin, and reads the same
// configuration:
//
//	plugins:
//	  envoy_ext_authz_grpc:
//	    addr: 127.0.0.1:9191     # where to listen
//	    path: envoy/authz/allow  # the decision: a boolean, or an object with a field "allowed"
//
// It does not require Regometer: `regometer build -C` puts Regometer in.
package main

import (
	"os"

	"github.com/open-policy-agent/opa/cmd"
	"github.com/open-policy-agent/opa/v1/runtime"
)

func main() {
	runtime.RegisterPlugin(pluginName, factory{})
	if err := cmd.RootCommand.Execute(); err != nil {
		os.Exit(1)
	}
}
