// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/hooks"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/sdk"
	"github.com/open-policy-agent/opa/v1/server"
	"github.com/open-policy-agent/opa/v1/storage"
)

// observingPlugin is a plugin that observes decisions.
type observingPlugin struct {
	countingLogger
	decisions []hooks.Decision
}

// dispatchingHook hands each decision to the plugin of its manager, as a hook
// does that is registered before there is a plugin.
type dispatchingHook struct{}

func (*dispatchingHook) WantsDecision() bool { return true }

func (*dispatchingHook) OnDecision(_ context.Context, d hooks.Decision) {
	if p, ok := d.Manager.(*plugins.Manager).Plugin("observing").(*observingPlugin); ok {
		p.decisions = append(p.decisions, d)
	}
}

// newObservedHandler returns a runtime with a plugin that observes decisions.
func newObservedHandler(t *testing.T, overrides ...string) (*Runtime, http.Handler, *observingPlugin) {
	t.Helper()
	h := &dispatchingHook{}
	RegisterHook(h)
	defer func() {
		registeredHooksMux.Lock()
		defer registeredHooksMux.Unlock()
		registeredHooks = slices.DeleteFunc(registeredHooks, func(x hooks.Hook) bool { return x == hooks.Hook(h) })
	}()
	rt, handler := newTestHandler(t, overrides...)
	p := &observingPlugin{}
	rt.Manager.Register("observing", p)
	return rt, handler, p
}

func post(t *testing.T, handler http.Handler) {
	t.Helper()
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/data/test/hello", strings.NewReader("{}")))
	if rec.Code != http.StatusOK {
		t.Fatal(rec.Code, rec.Body)
	}
}

// Each plugin gets the decisions of its own manager. They have an ID if they are
// logged.
func TestDecisionHook(t *testing.T) {
	_, handler, p := newObservedHandler(t)
	_, logging, q := newObservedHandler(t, "decision_logs.console=true")
	post(t, handler)
	post(t, logging)
	post(t, logging)

	if len(p.decisions) != 1 || p.decisions[0].DecisionID != "" || p.decisions[0].Path != "test/hello" {
		t.Errorf("unexpected decisions without a decision log: %v", p.decisions)
	}
	if len(q.decisions) != 2 || q.decisions[0].DecisionID == "" || q.decisions[0].DecisionID == q.decisions[1].DecisionID {
		t.Errorf("unexpected decisions with a decision log: %v", q.decisions)
	}
}

// What evaluates by itself, as opa-envoy-plugin does, reaches the decision log
// only. So does the SDK, unless its own options have the hook.
func TestDecisionHookLimits(t *testing.T) {
	rt, _, p := newObservedHandler(t)
	config, err := logs.ParseConfig([]byte(`{"plugin": "observing"}`), nil, []string{"observing"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	log := logs.New(config, rt.Manager)
	rt.Manager.Register(logs.Name, log)
	if err := log.Start(ctx); err != nil {
		t.Fatal(err)
	}
	err = storage.Txn(ctx, rt.Store, storage.TransactionParams{}, func(txn storage.Transaction) error {
		return log.Log(ctx, &server.Info{Path: "test/hello", Txn: txn})
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.events != 1 || len(p.decisions) != 0 {
		t.Errorf("expected an event and no decision, got %d and %v", p.events, p.decisions)
	}

	h := &failingHook{t: t}
	RegisterHook(h)
	defer func() {
		registeredHooksMux.Lock()
		defer registeredHooksMux.Unlock()
		registeredHooks = slices.DeleteFunc(registeredHooks, func(x hooks.Hook) bool { return x == hooks.Hook(h) })
	}()
	opa, err := sdk.New(ctx, sdk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer opa.Stop(ctx)
	if _, err := opa.Decision(ctx, sdk.DecisionOptions{Path: "/test/hello"}); !sdk.IsUndefinedErr(err) {
		t.Fatal(err)
	}
}

// failingHook must not be called.
type failingHook struct{ t *testing.T }

func (h *failingHook) WantsDecision() bool {
	h.t.Error("unexpected question")
	return true
}

func (h *failingHook) OnDecision(context.Context, hooks.Decision) { h.t.Error("unexpected decision") }
