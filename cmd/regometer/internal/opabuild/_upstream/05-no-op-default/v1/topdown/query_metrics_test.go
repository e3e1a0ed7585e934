// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package topdown

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/types"
)

// Queries without metrics measure nothing.
func TestQueryMetricsDefault(t *testing.T) {
	var got string
	provider := &Builtin{
		Decl: &ast.Builtin{Name: "test.provider", Decl: types.NewFunction(nil, types.S)},
		Func: func(bctx BuiltinContext, _ []*ast.Term, iter func(*ast.Term) error) error {
			got = bctx.Metrics.Info().Name
			return iter(ast.StringTerm(got))
		},
	}
	newQuery := func() *Query {
		got = ""
		return NewQuery(ast.MustParseBody("test.provider(x)")).
			WithCompiler(ast.NewCompiler()).
			WithBuiltins(map[string]*Builtin{provider.Decl.Name: provider})
	}
	run := func(q *Query) error {
		_, err := q.Run(t.Context())
		return err
	}
	partialRun := func(q *Query) error {
		_, _, err := q.PartialRun(t.Context())
		return err
	}

	for name, eval := range map[string]func(*Query) error{"Run": run, "PartialRun": partialRun} {
		if err := eval(newQuery()); err != nil {
			t.Fatal(err)
		}
		if exp := metrics.NoOp().Info().Name; got != exp {
			t.Errorf("%s without metrics: expected %s, got %q", name, exp, got)
		}

		m := metrics.New()
		if err := eval(newQuery().WithMetrics(m)); err != nil {
			t.Fatal(err)
		}
		if exp := m.Info().Name; got != exp {
			t.Errorf("%s with metrics: expected %s, got %q", name, exp, got)
		}
		if len(m.All()) == 0 {
			t.Errorf("%s with metrics: expected the evaluation to be timed", name)
		}
	}
}
