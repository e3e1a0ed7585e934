// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Embed evaluates a policy with an unmodified OPA, and prints the metrics of
// the decision. Only one import differs from a program that uses OPA's own
// metrics:
//
//	"github.com/regometer/regometer/opa/metrics" // before: "github.com/open-policy-agent/opa/v1/metrics"
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/regometer/regometer/opa/metrics"
)

const policy = `package example

default allow := false

allow if "admin" in input.roles
`

func main() {
	ctx := context.Background()
	query, err := rego.New(
		rego.Query("data.example.allow"),
		rego.Module("example.rego", policy),
	).PrepareForEval(ctx)
	if err != nil {
		log.Fatal(err)
	}

	m := metrics.New()
	results, err := query.Eval(ctx,
		rego.EvalInput(map[string]any{"roles": []string{"admin"}}),
		rego.EvalMetrics(m),
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("allowed:", results.Allowed())

	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	if err := out.Encode(m); err != nil {
		log.Fatal(err)
	}
}
