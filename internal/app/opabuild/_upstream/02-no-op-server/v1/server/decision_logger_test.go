// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/types"
)

func init() {
	rego.RegisterBuiltinDyn(&rego.Function{
		Name:             "test.metrics_provider",
		Decl:             types.NewFunction(nil, types.S),
		Nondeterministic: true,
	}, func(bctx rego.BuiltinContext, _ []*ast.Term) (*ast.Term, error) {
		return ast.StringTerm(bctx.Metrics.Info().Name), nil
	})
}

// Metrics are collected only for requests whose decision is logged, and for
// those that ask for metrics.
func TestMetricsOfRequest(t *testing.T) {
	const query = "q=x%3Ddata.test.provider"

	var calls, events int
	var log func(context.Context, *Info) error
	f := newFixture(t, func(s *Server) {
		s.WithDecisionLoggerFunc(func() func(context.Context, *Info) error {
			calls++
			return log
		})
	})
	policy := "package test\n\nprovider := test.metrics_provider()\n\nbroken := 1 if test.metrics_provider()\nbroken := 2 if test.metrics_provider()\n"
	if err := f.v1(http.MethodPut, "/policies/test", policy, 200, ""); err != nil {
		t.Fatal(err)
	}
	if err := f.v1(http.MethodPut, "/policies/system", "package system\n\nmain := test.metrics_provider()\n", 200, ""); err != nil {
		t.Fatal(err)
	}

	for _, endpoint := range []struct{ method, path, body string }{
		{http.MethodGet, "/v1/data/test/provider", ""},
		{http.MethodPost, "/v1/data/test/provider", "{}"},
		{http.MethodPost, "/v0/data/test/provider", "{}"},
		{http.MethodPost, "/", "{}"},
		{http.MethodGet, "/v1/query?" + query, ""},
		{http.MethodPost, "/v1/query", `{"query": "x = data.test.provider"}`},
		{http.MethodPost, "/v1/data/test/broken", "{}"},
		{http.MethodPost, "/v1/data/test/missing", "{}"},
	} {
		for _, logged := range []bool{false, true} {
			for _, param := range []string{"", "metrics", "instrument", "provenance"} {
				name := endpoint.method + " " + endpoint.path + " " + param
				if logged {
					name += " logged"
				}
				t.Run(name, func(t *testing.T) {
					calls, events, log = 0, 0, nil
					exp := "<built-in no-op>"
					if logged || param == "metrics" || param == "instrument" {
						exp = "<built-in>"
					}
					if logged {
						log = func(_ context.Context, info *Info) error { //nolint:unparam // as the server calls it
							events++
							if info.Metrics.Info().Name != exp {
								t.Errorf("expected an event with metrics from %s, got %s", exp, info.Metrics.Info().Name)
							}
							// A change of the configuration between two requests.
							log = nil
							return nil
						}
					}

					sep := "?"
					if strings.Contains(endpoint.path, "?") {
						sep = "&"
					}
					req := newReqUnversioned(endpoint.method, endpoint.path+sep+param, endpoint.body)
					rec := httptest.NewRecorder()
					f.server.Handler.ServeHTTP(rec, req)

					var body any
					if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
						t.Fatal(err)
					}
					if rec.Code == http.StatusOK && !strings.HasSuffix(endpoint.path, "missing") && !contains(body, exp) {
						t.Errorf("expected metrics from %s, got %s", exp, rec.Body)
					}
					_, hasMetrics := asMap(body)["metrics"]
					if strings.HasPrefix(endpoint.path, "/v1/") && rec.Code == http.StatusOK && hasMetrics != (param == "metrics" || param == "instrument") {
						t.Errorf("unexpected metrics in the response: %s", rec.Body)
					}
					if calls != 1 {
						t.Errorf("expected to be asked for the logger once, got %d", calls)
					}
					if logged != (events == 1) {
						t.Errorf("got %d events", events)
					}
				})
			}
		}
	}
}

// Functions can save intermediate results even if nobody logs them.
func TestIntermediateResultsWithoutDecisionLogger(t *testing.T) {
	defer func(enabled bool) { intermediateResultsEnabled = enabled }(intermediateResultsEnabled)
	intermediateResultsEnabled = true

	ctx, _ := New().getDecisionLogger(t.Context(), bundleRevisions{}, decisionLogger{})
	if _, ok := ctx.Value(IntermediateResultsContextKey{}).(map[string]any); !ok {
		t.Error("expected a map of intermediate results in the context")
	}
}

func asMap(x any) map[string]any {
	m, _ := x.(map[string]any)
	return m
}

// contains returns true if s is one of the strings in a JSON document.
func contains(x any, s string) bool {
	switch x := x.(type) {
	case string:
		return x == s
	case []any:
		for i := range x {
			if contains(x[i], s) {
				return true
			}
		}
	case map[string]any:
		for k := range x {
			if contains(x[k], s) {
				return true
			}
		}
	}
	return false
}
