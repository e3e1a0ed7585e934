// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/types"
)

// A built-in function sees the metrics that the caller gave, or else those that
// measure nothing.
func TestMetricsDefault(t *testing.T) {
	ctx := t.Context()
	provider := FunctionDyn(&Function{
		Name:             "test.provider",
		Decl:             types.NewFunction(nil, types.S),
		Nondeterministic: true,
	}, func(bctx BuiltinContext, _ []*ast.Term) (*ast.Term, error) {
		return ast.StringTerm(bctx.Metrics.Info().Name), nil
	})
	check := func(t *testing.T, rs ResultSet, err error, exp string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if got := rs[0].Expressions[0].Value; got != exp {
			t.Errorf("expected %s, got %v", exp, got)
		}
	}
	given, none := metrics.New().Info().Name, metrics.NoOp().Info().Name

	for _, instrument := range []bool{false, true} {
		rs, err := New(Query("test.provider()"), provider, Instrument(instrument)).Eval(ctx)
		check(t, rs, err, none)
	}

	m := metrics.New()
	rs, err := New(Query("test.provider()"), provider, Metrics(m)).Eval(ctx)
	check(t, rs, err, given)
	if m.Timer(metrics.RegoQueryEval).Int64() == 0 {
		t.Error("expected the evaluation to be timed")
	}

	pq, err := New(Query("test.provider()"), provider).PrepareForEval(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rs, err = pq.Eval(ctx)
	check(t, rs, err, none)
	m = metrics.New()
	rs, err = pq.Eval(ctx, EvalMetrics(m))
	check(t, rs, err, given)
	if m.Timer(metrics.RegoQueryEval).Int64() == 0 {
		t.Error("expected the evaluation to be timed")
	}

	ppq, err := New(Query("input.x; test.provider()"), provider).PrepareForPartial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ppq.Partial(ctx); err != nil {
		t.Fatal(err)
	}
}
