// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opa_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/regometer/regometer/metrics"
	"github.com/regometer/regometer/opa"
)

// One collection for each decision: it is wrapped for OPA, and read directly
// afterwards.
func ExampleMetrics() {
	ctx := context.Background()
	query, err := rego.New(
		rego.Query("data.example.allow"),
		rego.Module("example.rego", `package example
			allow if input.user == "alice"`),
	).PrepareForEval(ctx)
	if err != nil {
		log.Fatal(err)
	}

	m := metrics.New()
	results, err := query.Eval(ctx,
		rego.EvalInput(map[string]any{"user": "alice"}),
		rego.EvalMetrics(opa.Metrics(m)),
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("allowed:", results.Allowed())
	fmt.Println("evaluation took time:", m.Timer(metrics.RegoQueryEval).Int64() > 0)
	// Output:
	// allowed: true
	// evaluation took time: true
}

// A builtin function gets its collection from OPA. Where that is a Regometer
// collection, Unwrap gives it back.
func ExampleUnwrap() {
	fromOPA := opa.Metrics(metrics.New())
	fromOPA.Counter("cache_hits").Add(3)

	if m, ok := opa.Unwrap(fromOPA); ok {
		for metric := range metrics.Each(m) {
			fmt.Println(metric.Kind(), metric.Name(), metric.Uint64())
		}
	}
	// Output: counter cache_hits 3
}

// A buffer that is used again makes the JSON of a decision cost no allocation.
func ExampleAppendJSON() {
	buffer := make([]byte, 0, 1024)
	for hits := range uint64(2) {
		m := opa.Metrics(metrics.New())
		m.Counter("cache_hits").Add(hits)
		text, err := opa.AppendJSON(buffer[:0], m)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(text), json.Valid(text))
	}
	// Output:
	// {"counter_cache_hits":0} true
	// {"counter_cache_hits":1} true
}
