// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"testing"

	"github.com/open-policy-agent/opa/v1/hooks"
	"github.com/open-policy-agent/opa/v1/metrics"
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

func TestDecisionHook(t *testing.T) {
	ctx := t.Context()
	h := &decisionHook{wants: true}
	opa, err := sdk.New(ctx, sdk.Options{Hooks: hooks.New(h)})
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
}
