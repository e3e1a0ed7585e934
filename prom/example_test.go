// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

func Example() {
	decisions, err := rollup.New(rollup.Options{Bounds: prom.DefaultBounds()})
	if err != nil {
		panic(err)
	}
	collector, err := prom.NewCollector(decisions, prom.Options{})
	if err != nil {
		panic(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)

	// For each decision:
	decisions.Add(rollup.Decision{Path: "authz/allow", Outcome: outcome.Allowed, Numbers: []rollup.Number{
		{Key: "timer_server_handler_ns", Value: 250_000},
		{Key: "timer_rego_query_eval_ns", Value: 100_000},
	}})

	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "opa_decision_path_self_seconds_total") {
			fmt.Println(lines.Text())
		}
	}
	// Output:
	// opa_decision_path_self_seconds_total{path="authz/allow",stage="rego_query_eval"} 0.0001
	// opa_decision_path_self_seconds_total{path="authz/allow",stage="server_handler"} 0.00015
}
