// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Embed evaluates a policy with an unmodified OPA and prints the decision's
// metrics. A program that measures with OPA's own package differs from it in
// one import:
//
//	"github.com/regometer/regometer/opa/metrics" // before: "github.com/open-policy-agent/opa/v1/metrics"
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, stdout io.Writer) error {
	query, err := rego.New(
		rego.Query("data.example.allow"),
		rego.Module("example.rego", policy),
	).PrepareForEval(ctx)
	if err != nil {
		return err
	}

	m := metrics.New()
	results, err := query.Eval(ctx,
		rego.EvalInput(map[string]any{"roles": []string{"admin"}}),
		rego.EvalMetrics(m),
	)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, "allowed:", results.Allowed())

	out := json.NewEncoder(stdout)
	out.SetIndent("", "  ")
	return out.Encode(m)
}
