// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "testing"

func TestSlowDecisionIDs(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]SlowDecision{"": {}, "a": {ID: "a"}, "trace b": {TraceID: "b"}, "a, trace b": {ID: "a", TraceID: "b"}} {
		if got := d.IDs(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
