// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"testing"

	"github.com/open-policy-agent/opa/v1/hooks"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
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
	store := &metricsStore{Store: inmem.New()}
	f := newDecisionFixture(t, store, func(s *Server) {
		s.WithHooks(hooks.New(h, other)).
			WithDecisionLoggerFunc(func() func(context.Context, *Info) error { return log })
	})

	for i, exp := range []struct {
		path, query string
		id          string
		undefined   bool
		fails       bool
	}{
		{path: "test/request", id: "id"},
		{path: "test/request", id: "id"},
		{path: "test/request", id: "id"},
		{path: "system/main", id: "id"},
		{query: "x = data.test.request", id: "id"},
		{query: "x = data.test.request", id: "id"},
		{path: "test/include"},
		{path: "test/broken", id: "id", undefined: true, fails: true},
		{path: "test/missing", id: "id", undefined: true},
	} {
		tc := decisionTestRequests[i]
		for _, wants := range []bool{false, true} {
			for _, logged := range []bool{false, true} {
				name := tc.method + " " + tc.path
				if wants {
					name += " wanted"
				}
				var observed []bool // by the time that the decision is logged
				if log = nil; logged {
					name += " logged"
					log = func(ctx context.Context, _ *Info) error { //nolint:unparam // as the server calls it
						observed = append(observed, hooks.DecisionObserved(ctx))
						return nil
					}
				}
				t.Run(name, func(t *testing.T) {
					*h, *other = decisionHook{wants: wants}, decisionHook{}
					response := f.decide(t, tc.method, tc.path, "", tc.body)

					if h.asked != 1 || other.asked != 1 {
						t.Errorf("expected each hook to be asked once, got %d and %d", h.asked, other.asked)
					}
					provider := store.provider
					if tc.returns {
						provider, _ = returned(t, response)
					}
					if collected := provider == "<built-in>"; collected != (wants || logged) {
						t.Errorf("unexpected metrics from %q", provider)
					}
					if logged && (len(observed) != 1 || observed[0] != wants) {
						t.Errorf("expected the event of an observed decision: %v, got %v", wants, observed)
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
					if d.Path != exp.path || d.Query != exp.query || d.DecisionID != exp.id {
						t.Errorf("expected %+v, got path %q, query %q and id %q", exp, d.Path, d.Query, d.DecisionID)
					}
					if (d.Result == nil) != exp.undefined || (d.Error != nil) != exp.fails {
						t.Errorf("unexpected result %v or error %v", d.Result, d.Error)
					}
					if d.Manager != f.server.manager {
						t.Errorf("unexpected manager %v", d.Manager)
					}
					if len(d.Metrics.All()) == 0 {
						t.Error("expected the decision's metrics")
					}
				})
			}
		}
	}
}
