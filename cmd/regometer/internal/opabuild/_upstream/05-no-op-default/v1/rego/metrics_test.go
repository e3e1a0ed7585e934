// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"context"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/types"
)

// A built-in function sees the metrics that the caller gave, or else those that
// measure nothing.
func TestMetricsDefault(t *testing.T) {
	var got string
	provider := FunctionDyn(&Function{
		Name: "test.provider",
		Decl: types.NewFunction(nil, types.S),
	}, func(bctx BuiltinContext, _ []*ast.Term) (*ast.Term, error) {
		got = bctx.Metrics.Info().Name
		return ast.StringTerm(got), nil
	})
	given, none := metrics.New().Info().Name, metrics.NoOp().Info().Name

	for _, tc := range []struct {
		note string
		eval func(context.Context, metrics.Metrics) error // without metrics if they are nil
	}{
		{
			note: "Eval",
			eval: func(ctx context.Context, m metrics.Metrics) error {
				_, err := New(Query("test.provider()"), provider, Metrics(m)).Eval(ctx)
				return err
			},
		},
		{
			note: "instrumented",
			eval: func(ctx context.Context, m metrics.Metrics) error {
				_, err := New(Query("test.provider()"), provider, Metrics(m), Instrument(true)).Eval(ctx)
				return err
			},
		},
		{
			note: "prepared",
			eval: func(ctx context.Context, m metrics.Metrics) error {
				pq, err := New(Query("test.provider()"), provider).PrepareForEval(ctx)
				if err != nil {
					return err
				}
				_, err = pq.Eval(ctx, EvalMetrics(m), EvalInstrument(true))
				return err
			},
		},
		{
			note: "partial",
			eval: func(ctx context.Context, m metrics.Metrics) error {
				pq, err := New(Query("test.provider() == input.x"), provider).PrepareForPartial(ctx)
				if err != nil {
					return err
				}
				_, err = pq.Partial(ctx, EvalMetrics(m))
				return err
			},
		},
	} {
		t.Run(tc.note, func(t *testing.T) {
			if err := tc.eval(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if got != none {
				t.Errorf("without metrics: expected %s, got %s", none, got)
			}

			m := metrics.New()
			if err := tc.eval(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if got != given {
				t.Errorf("with metrics: expected %s, got %s", given, got)
			}
			if len(m.All()) == 0 {
				t.Error("with metrics: expected the evaluation to be timed")
			}
		})
	}
}

// A target's engine gets the same default.
func TestEvalContextMetricsDefault(t *testing.T) {
	ctx := t.Context()
	pq, err := New(Query("true")).PrepareForEval(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ectx, finish, err := pq.newEvalContext(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer finish(ctx)
	if got, exp := ectx.Metrics().Info().Name, metrics.NoOp().Info().Name; got != exp {
		t.Errorf("expected %s, got %s", exp, got)
	}
}
