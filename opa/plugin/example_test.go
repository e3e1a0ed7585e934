// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/sdk"

	"github.com/regometer/regometer/opa/plugin"
)

// A program that embeds OPA by its SDK gives the plugin the registry that it
// serves its own metrics from.
func ExampleFactory() {
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

	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "opa_decision_stage_duration_seconds" {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetValue() == "sdk_decision_eval" {
						fmt.Println(l.GetValue(), m.GetHistogram().GetSampleCount())
					}
				}
			}
		}
	}
	opa.Stop(ctx)
	// Output:
	// opa_undefined_error: rbac/allow decision was undefined
	// sdk_decision_eval 1
}
