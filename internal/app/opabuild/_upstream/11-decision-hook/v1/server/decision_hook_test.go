// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/open-policy-agent/opa/v1/hooks"
)

type decisionHook struct {
	wants     bool
	asked     int
	decisions []hooks.Decision
}

func (h *decisionHook) WantsDecision() bool {
	h.asked++
	return h.wants
}

func (h *decisionHook) OnDecision(_ context.Context, d hooks.Decision) {
	h.decisions = append(h.decisions, d)
}

// A hook that wants decisions gets each one with its metrics, whether or not it
// is logged. Other hooks get none.
func TestDecisionHook(t *testing.T) {
	h, other := &decisionHook{}, &decisionHook{}
	var log func(context.Context, *Info) error
	f := newFixture(t, func(s *Server) {
		s.WithHooks(hooks.New(h, other)).
			WithDecisionIDFactory(func() string { return "id" }).
			WithDecisionLoggerFunc(func() func(context.Context, *Info) error { return log })
	})
	policy := "package test\n\nprovider := test.metrics_provider()\n\nconflict := 1\n\nconflict := 2 if input.x == 1\n"
	if err := f.v1(http.MethodPut, "/policies/test", policy, 200, ""); err != nil {
		t.Fatal(err)
	}
	if err := f.v1(http.MethodPut, "/policies/system", "package system\n\nmain := data.test.provider\n", 200, ""); err != nil {
		t.Fatal(err)
	}
	const provider = "test/provider"

	for _, tc := range []struct {
		method, path, body string
		exp                hooks.Decision // its Path and Query
		undefined, fails   bool
	}{
		{http.MethodGet, "/v1/data/test/provider", "", hooks.Decision{Path: provider}, false, false},
		{http.MethodPost, "/v1/data/test/provider", "{}", hooks.Decision{Path: provider}, false, false},
		{http.MethodPost, "/v0/data/test/provider", "{}", hooks.Decision{Path: provider}, false, false},
		{http.MethodPost, "/", "{}", hooks.Decision{Path: "system/main"}, false, false},
		{http.MethodGet, "/v1/query?q=data.test.provider", "", hooks.Decision{Query: "data.test.provider"}, false, false},
		{http.MethodPost, "/v1/query", `{"query": "data.test.provider"}`, hooks.Decision{Query: "data.test.provider"}, false, false},
		{http.MethodPost, "/v1/data/test/missing", "{}", hooks.Decision{Path: "test/missing"}, true, false},
		{http.MethodPost, "/v1/data/test/conflict", `{"input": {"x": 1}}`, hooks.Decision{Path: "test/conflict"}, true, true},
	} {
		for _, wants := range []bool{false, true} {
			for _, logged := range []bool{false, true} {
				name := tc.method + " " + tc.path
				if wants {
					name += " wanted"
				}
				if log = nil; logged {
					name += " logged"
					log = func(context.Context, *Info) error { return nil }
				}
				t.Run(name, func(t *testing.T) {
					*h, *other = decisionHook{wants: wants}, decisionHook{}
					f.server.Handler.ServeHTTP(httptest.NewRecorder(), newReqUnversioned(tc.method, tc.path, tc.body))

					if h.asked != 1 || other.asked != 1 {
						t.Errorf("expected each hook to be asked once, got %d and %d", h.asked, other.asked)
					}
					if len(other.decisions) != 0 || len(h.decisions) != 0 && !wants {
						t.Errorf("expected no decision, got %v and %v", h.decisions, other.decisions)
					}
					if !wants {
						return
					}
					if len(h.decisions) != 1 {
						t.Fatalf("expected one decision, got %v", h.decisions)
					}
					d := h.decisions[0]
					if d.Path != tc.exp.Path || d.Query != tc.exp.Query {
						t.Errorf("expected path %q and query %q, got %q and %q", tc.exp.Path, tc.exp.Query, d.Path, d.Query)
					}
					if (d.Result == nil) != tc.undefined || (d.Error != nil) != tc.fails {
						t.Errorf("unexpected result %v or error %v", d.Result, d.Error)
					}
					if d.Manager != f.server.manager || d.DecisionID != "id" {
						t.Errorf("unexpected manager %v or id %q", d.Manager, d.DecisionID)
					}
					if !slices.Contains(timersOf(d), "timer_rego_query_eval_ns") {
						t.Errorf("expected the decision's metrics, got %v", d.Metrics.All())
					}
				})
			}
		}
	}
}

func timersOf(d hooks.Decision) (names []string) {
	for name := range d.Metrics.All() {
		names = append(names, name)
	}
	return names
}
