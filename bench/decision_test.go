// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
)

// policyFolder has the policy and the data of all decisions here.
const policyFolder = "../examples/policy"

// input is that of all requests.
const input = `{"user":"alice","action":"read","resource":"tenants/acme/documents/7"}`

// benchmarkDecision measures a decision in a program that uses OPA as a
// library, with the timers that OPA's server has: the handler's around those of
// the input and of the evaluation.
func benchmarkDecision(b *testing.B, collection func() metrics.Metrics, instrument bool, output func(metrics.Metrics) error) {
	query, err := rego.New(rego.Query("data.rbac.allow"), rego.Load([]string{policyFolder}, nil)).PrepareForEval(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var request map[string]any
	if err := json.Unmarshal([]byte(input), &request); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m := collection()
		m.Timer(metrics.ServerHandler).Start()
		m.Timer(metrics.RegoInputParse).Start()
		parsed, err := ast.InterfaceToValue(request)
		if err != nil {
			b.Fatal(err)
		}
		m.Timer(metrics.RegoInputParse).Stop()
		result, err := query.Eval(b.Context(), rego.EvalParsedInput(parsed), rego.EvalMetrics(m), rego.EvalInstrument(instrument))
		if err != nil || !result.Allowed() {
			b.Fatal("not allowed: ", err)
		}
		m.Timer(metrics.ServerHandler).Stop()
		if err := output(m); err != nil {
			b.Fatal(err)
		}
	}
}

// asJSON makes JSON as OPA's decision log does: of the map of a collection.
func asJSON(m metrics.Metrics) error {
	_, err := json.Marshal(m.All())
	return err
}

func BenchmarkDecisionNoOp(b *testing.B) {
	benchmarkDecision(b, metrics.NoOp, false, func(metrics.Metrics) error { return nil })
}

func BenchmarkDecisionJSON(b *testing.B)   { benchmarkDecision(b, fresh, false, asJSON) }
func BenchmarkDecisionAppend(b *testing.B) { benchmarkDecision(b, fresh, false, appended()) }

func BenchmarkDecisionInstrumented(b *testing.B) { benchmarkDecision(b, fresh, true, asJSON) }
