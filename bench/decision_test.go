// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

func prepare(tb testing.TB) rego.PreparedEvalQuery {
	tb.Helper()
	module, err := Policy.ReadFile("rbac.rego")
	if err != nil {
		tb.Fatal(err)
	}
	data, err := Policy.Open("data.json")
	if err != nil {
		tb.Fatal(err)
	}
	defer data.Close()
	query, err := rego.New(
		rego.Query("data.rbac.allow"),
		rego.Module("rbac.rego", string(module)),
		rego.Store(inmem.NewFromReader(data)),
	).PrepareForEval(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return query
}

// embeddedInput returns the input as a program has it.
func embeddedInput(tb testing.TB) map[string]any {
	tb.Helper()
	var input map[string]any
	if err := json.Unmarshal([]byte(Input), &input); err != nil {
		tb.Fatal(err)
	}
	return input
}

// decide makes one decision with the timers that OPA's server has: the
// handler's around those of the input and of the evaluation.
func decide(tb testing.TB, query rego.PreparedEvalQuery, request map[string]any, m metrics.Metrics, instrument bool) {
	m.Timer(metrics.ServerHandler).Start()
	m.Timer(metrics.RegoInputParse).Start()
	input, err := ast.InterfaceToValue(request)
	if err != nil {
		tb.Fatal(err)
	}
	m.Timer(metrics.RegoInputParse).Stop()
	result, err := query.Eval(context.Background(),
		rego.EvalParsedInput(input), rego.EvalMetrics(m), rego.EvalInstrument(instrument))
	if err != nil || !result.Allowed() {
		tb.Fatal("not allowed: ", err)
	}
	m.Timer(metrics.ServerHandler).Stop()
}

func marshalAll(m metrics.Metrics, _ []byte) ([]byte, error) { return json.Marshal(m.All()) }

func appendAll(m metrics.Metrics, buf []byte) ([]byte, error) { return appendJSON(buf[:0], m) }

func nothing(metrics.Metrics, []byte) ([]byte, error) { return []byte("{}"), nil }

// The variants of the metrics' part of a decision in a program that uses OPA as
// a library.
var variants = []struct {
	name       string
	collection func() metrics.Metrics
	instrument bool
	output     func(metrics.Metrics, []byte) ([]byte, error)
}{
	{"noop", metrics.NoOp, false, nothing},
	{"marshal", metrics.New, false, marshalAll},
	{"append", metrics.New, false, appendAll},
	{"instrumented", metrics.New, true, marshalAll},
}

func BenchmarkDecision(b *testing.B) {
	query, input := prepare(b), embeddedInput(b)
	for _, v := range variants {
		b.Run("case="+v.name+"/impl="+side, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 1<<16)
			for b.Loop() {
				m := v.collection()
				decide(b, query, input, m, v.instrument)
				if _, err := v.output(m, buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
