// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command extauthz is OPA with a server of Envoy's external authorization
// (ext_authz) beside its own. It stands for all programs with OPA inside that
// make decisions in a way of their own, as opa-envoy-plugin does, and takes the
// same configuration:
//
//	plugins:
//	  envoy_ext_authz_grpc:
//	    addr: 127.0.0.1:9191     # where to listen
//	    path: envoy/authz/allow  # what decides: a boolean, or an object with a field "allowed"
//
// It requires nothing of Regometer, which `regometer build -C` puts in.
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
