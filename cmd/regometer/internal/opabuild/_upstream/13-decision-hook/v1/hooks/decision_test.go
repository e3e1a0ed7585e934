// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"testing"

	"github.com/open-policy-agent/opa/v1/hooks"
)

type decisionHook struct{}

func (*decisionHook) WantsDecision() bool                        { return true }
func (*decisionHook) OnDecision(context.Context, hooks.Decision) {}

func TestDecisionHook(t *testing.T) {
	h := &decisionHook{}
	hs := hooks.New(h)
	if err := hs.Validate(); err != nil {
		t.Error(err)
	}
	hs.Append(&struct{ int }{})
	if got := hs.Decision(); len(got) != 1 || got[0] != h {
		t.Errorf("expected the one decision hook, got %v", got)
	}
	if got := (hooks.Hooks{}).Decision(); got != nil {
		t.Errorf("expected no decision hook, got %v", got)
	}
}

// uncomparableHook cannot be a key of a map.
type uncomparableHook struct{ names []string }

func (uncomparableHook) WantsDecision() bool                        { return true }
func (uncomparableHook) OnDecision(context.Context, hooks.Decision) {}

func TestDecisionHookUncomparable(t *testing.T) {
	for name, register := range map[string]func(hooks.Hook){
		"New":    func(h hooks.Hook) { hooks.New(h) },
		"Append": func(h hooks.Hook) { (&hooks.Hooks{}).Append(h) },
	} {
		register(&uncomparableHook{})
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: expected a panic", name)
				}
			}()
			register(uncomparableHook{names: []string{"a"}})
		}()
	}
}
