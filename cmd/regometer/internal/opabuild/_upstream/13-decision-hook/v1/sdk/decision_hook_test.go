// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/hooks"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/plugins"
	"github.com/open-policy-agent/opa/v1/plugins/logs"
	"github.com/open-policy-agent/opa/v1/sdk"
)

type decisionHook struct {
	wants     bool
	decisions []hooks.Decision
}

func (h *decisionHook) WantsDecision() bool { return h.wants }

func (h *decisionHook) OnDecision(_ context.Context, d hooks.Decision) {
	h.decisions = append(h.decisions, d)
}

// decisionLog is a decision log's plugin that remembers which decisions were
// observed.
type decisionLog struct{ observed []bool }

func (*decisionLog) Validate(*plugins.Manager, []byte) (any, error) { return nil, nil }
func (*decisionLog) Start(context.Context) error                    { return nil }
func (*decisionLog) Stop(context.Context)                           {}
func (*decisionLog) Reconfigure(context.Context, any)               {}

func (l *decisionLog) New(m *plugins.Manager, _ any) plugins.Plugin {
	m.UpdatePluginStatus("log", &plugins.Status{State: plugins.StateOK})
	return l
}

func (l *decisionLog) Log(ctx context.Context, _ logs.EventV1) error {
	l.observed = append(l.observed, hooks.DecisionObserved(ctx))
	return nil
}

func TestDecisionHook(t *testing.T) {
	ctx := t.Context()
	h := &decisionHook{wants: true}
	log := &decisionLog{}
	opa, err := sdk.New(ctx, sdk.Options{
		Hooks:   hooks.New(h),
		Plugins: map[string]plugins.Factory{"log": log},
		Config:  strings.NewReader(`{"decision_logs": {"plugin": "log"}, "plugins": {"log": {}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer opa.Stop(ctx)

	if _, err := opa.Decision(ctx, sdk.DecisionOptions{Path: "/test/missing"}); !sdk.IsUndefinedErr(err) {
		t.Fatal(err)
	}
	if len(h.decisions) != 1 {
		t.Fatalf("expected one decision, got %v", h.decisions)
	}
	d := h.decisions[0]
	if d.Path != "/test/missing" || d.DecisionID == "" || d.Manager == nil || d.Result != nil || d.Error == nil {
		t.Errorf("unexpected decision %v", d)
	}
	if d.Metrics.Timer(metrics.SDKDecisionEval).Int64() == 0 {
		t.Errorf("expected the decision's metrics, got %v", d.Metrics.All())
	}

	h.wants = false
	if _, err := opa.Decision(ctx, sdk.DecisionOptions{Path: "/test/missing"}); !sdk.IsUndefinedErr(err) {
		t.Fatal(err)
	}
	if len(h.decisions) != 1 {
		t.Errorf("expected no further decision, got %v", h.decisions)
	}
	if exp := []bool{true, false}; !slices.Equal(log.observed, exp) {
		t.Errorf("expected events of observed decisions: %v, got %v", exp, log.observed)
	}
}
