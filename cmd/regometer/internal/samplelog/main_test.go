// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"testing"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/race"
)

func TestMain(m *testing.M) { race.Main(m) }

// TestExactDecisions checks that the truth about more decisions keeps no
// durations, and that a decision without a time does not count as the first.
func TestExactDecisions(t *testing.T) {
	t.Parallel()
	for _, beyond := range []int64{0, 1} {
		a := newAccount()
		a.Inputs.Decisions = ExactDecisions - 2 + beyond
		for range 2 {
			a.add(&decision{profile: profileOf(0), timers: map[string]int64{"server_handler": 1000}, flaw: logread.BadTime})
		}
		kept := len(a.groups[profiles[0].path].Stages["server_handler"].durations)
		if got := a.finish(0).Groups[0].Stages["server_handler"]; kept != int(2-beyond) || got.Sum != 2000 ||
			(got.Quantiles != nil) != (beyond == 0) || a.From != nil {
			t.Errorf("after %d decisions: %d durations kept, %+v from %v", a.Inputs.Decisions, kept, got, a.From)
		}
	}
}
