// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/sdk"

	"github.com/regometer/regometer/opa/plugin"
)

// A program that embeds OPA by its SDK gives the plugin the registry that it
// serves its own metrics from.
func ExampleFactory() {
	plugin.CountHTTPSend() // at the beginning of main
	ctx := context.Background()
	registry := prometheus.NewRegistry()
	opa, err := sdk.New(ctx, sdk.Options{
		ID: "example",
		Config: strings.NewReader(`
decision_logs: {plugin: regometer}
plugins: {regometer: {paths: {allow: [rbac/allow]}}}`),
		Logger:  logging.NewNoOpLogger(),
		Plugins: map[string]plugins.Factory{plugin.Name: plugin.Factory{Registerer: registry}},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = opa.Decision(ctx, sdk.DecisionOptions{Path: "rbac/allow"})
	fmt.Println(err) // there is no policy

	fmt.Println(testutil.GatherAndCount(registry, "opa_decisions_total")) // one series for each outcome
	opa.Stop(ctx)
	// Output:
	// opa_undefined_error: rbac/allow decision was undefined
	// 6 <nil>
}
