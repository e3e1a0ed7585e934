// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import "testing"

func TestDecisionLogger(t *testing.T) {
	for _, tc := range []struct {
		note      string
		overrides []string
		exp       bool
	}{
		{note: "no decision log"},
		{note: "console", overrides: []string{"decision_logs.console=true"}, exp: true},
	} {
		t.Run(tc.note, func(t *testing.T) {
			rt, _ := newTestHandler(t, tc.overrides...)
			if log := rt.decisionLogger(); (log != nil) != tc.exp {
				t.Errorf("expected a logger: %v, got %v", tc.exp, log != nil)
			}
		})
	}
}
