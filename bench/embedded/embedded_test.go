// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
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

// request is the input as a program has it.
func request(tb testing.TB) map[string]any {
	var input map[string]any
	if err := json.Unmarshal([]byte(Input), &input); err != nil {
		tb.Fatal(err)
	}
	return input
}

// decide is one decision with the timers that OPA's server has: the handler's
// around those of the input and of the evaluation.
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

func nothing(metrics.Metrics, []byte) ([]byte, error) { return nil, nil }

// The variants of the metrics' part of a decision.
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
	query, input := prepare(b), request(b)
	for _, v := range variants {
		b.Run("case="+v.name+"/impl="+impl, func(b *testing.B) {
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

// Whatever the implementation, the same metrics must come out.
func TestDecisionsReportTheSame(t *testing.T) {
	t.Parallel()
	query, input := prepare(t), request(t)
	plain := []string{
		"timer_rego_external_resolve_ns", "timer_rego_input_parse_ns", "timer_rego_query_eval_ns", "timer_server_handler_ns",
	}
	for _, v := range variants {
		m := v.collection()
		decide(t, query, input, m, v.instrument)
		output, err := v.output(m, nil)
		if err != nil {
			t.Fatal(err)
		}
		var all map[string]any
		if len(output) > 0 {
			d := json.NewDecoder(bytes.NewReader(output))
			d.UseNumber()
			if err := d.Decode(&all); err != nil {
				t.Fatalf("%s: %v: %s", v.name, err, output)
			}
		}
		keys := slices.Sorted(maps.Keys(all))
		switch v.name {
		case "noop":
			if len(keys) != 0 {
				t.Errorf("noop reports %v", keys)
			}
		case "instrumented":
			for _, want := range append(plain, "histogram_eval_op_resolve", "counter_eval_op_virtual_cache_miss") {
				if !slices.Contains(keys, want) {
					t.Errorf("%s: no %s in %v", v.name, want, keys)
				}
			}
		default:
			if !slices.Equal(keys, plain) {
				t.Errorf("%s reports %v, want %v", v.name, keys, plain)
			}
		}
	}
}
