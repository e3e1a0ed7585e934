// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestExactDecisions: beyond the bound no durations are kept, and there are no
// quantiles.
func TestExactDecisions(t *testing.T) {
	t.Parallel()
	for _, beyond := range []int64{0, 1} {
		a := account{decisions: ExactDecisions - 2 + beyond, paths: make([]*pathAccount, 1)}
		d := decision{profile: profileOf(0)}
		d.metrics.clear()
		d.metrics.timers[handler] = 1000
		a.add(&d)
		a.add(&d)
		if kept := len(a.paths[0].stages[handler].durations); kept != int(2-2*beyond) {
			t.Errorf("after %d decisions %d durations are kept", a.decisions, kept)
		}
		text, err := json.Marshal(a.truth(pathName, 0))
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(text), `"p50_ns":1000`); has != (beyond == 0) {
			t.Errorf("after %d decisions: %s", a.decisions, text)
		}
		if !strings.Contains(string(text), `"count":2,"unfinished":0,"sum_ns":2000,"self_ns":2000,"min_ns":1000,"max_ns":1000`) {
			t.Errorf("after %d decisions: %s", a.decisions, text)
		}
	}
}

func TestNearestRank(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		n, thousandths, want int64
	}{
		{0, 500, 0}, {1, 500, 1}, {1, 999, 1}, {2, 500, 1}, {3, 500, 2}, {10, 900, 9}, {11, 900, 10}, {1000, 999, 999}, {1001, 999, 1000},
	} {
		var sorted []int64
		for i := range test.n {
			sorted = append(sorted, i+1)
		}
		if got := nearestRank(sorted, test.thousandths); got != test.want {
			t.Errorf("of %d, %d/1000: %d, want %d", test.n, test.thousandths, got, test.want)
		}
	}
}

// TestNoTime: what has no time is neither first nor last.
func TestNoTime(t *testing.T) {
	t.Parallel()
	a := account{paths: make([]*pathAccount, 1)}
	d := decision{profile: profileOf(0), flaw: noTime}
	d.metrics.clear()
	a.add(&d)
	if truth := a.truth(pathName, 0); truth.From != nil || truth.To != nil || truth.Inputs.Decisions != 1 {
		t.Errorf("%d decisions from %v to %v", truth.Inputs.Decisions, truth.From, truth.To)
	}
}
