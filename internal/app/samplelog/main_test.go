// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"math"
	"slices"
	"testing"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/race"
)

func TestMain(m *testing.M) { race.Main(m) }

// TestDistributions compares the quantiles of durations, and of the factor of a
// minute, with those of the normal distribution.
func TestDistributions(t *testing.T) {
	t.Parallel()
	const n, median, sigma = 400_000, 60_000, 1.5
	s, d, w := newSource(9, 1), newLognormal(median, sigma*1000), wave{spread: spreadOf(500)}
	durations, factors, both := make([]float64, n), make([]float64, n), 0.0
	for i := range n {
		before := float64(w.now)
		w.step(s)
		durations[i] = math.Log2(float64(s.draw(d, 0))/median) / sigma
		factors[i] = float64(w.now) / logOne / 0.5
		both += factors[i] * before / logOne / 0.5
	}
	if both /= n; math.Abs(both-0.9) > 0.03 {
		t.Errorf("the correlation of neighbouring minutes is %.3f, want 0.9", both)
	}
	slices.Sort(durations)
	slices.Sort(factors)
	for quantile, want := range map[float64]float64{
		0.001: -3.0902, 0.01: -2.3263, 0.1: -1.2816, 0.25: -0.6745, 0.5: 0, 0.75: 0.6745, 0.9: 1.2816, 0.99: 2.3263, 0.999: 3.0902,
	} {
		at := int(quantile * n)
		if got, wave := durations[at], factors[at]; math.Abs(got-want) > 0.05 || math.Abs(wave-want) > 0.1 {
			t.Errorf("quantile %v is at %.3f and %.3f standard deviations, want %.3f", quantile, got, wave, want)
		}
	}
}

// TestExactDecisions checks that the truth about more decisions keeps no
// durations, and that a decision without a time does not count as the first.
func TestExactDecisions(t *testing.T) {
	t.Parallel()
	for _, beyond := range []int64{0, 1} {
		a := newAccount()
		a.Inputs.Decisions = ExactDecisions - 2 + beyond
		for range 2 {
			a.add(&decision{profile: profileOf(0), timers: map[string]int64{"server_handler": 1000}, flaw: flaw{problem: logread.BadTime}})
		}
		kept := len(a.groups[profiles[0].path].Stages["server_handler"].durations)
		if got := a.finish(0).Groups[0].Stages["server_handler"]; kept != int(2-beyond) || got.Sum != 2000 ||
			(got.Quantiles != nil) != (beyond == 0) || a.From != nil {
			t.Errorf("after %d decisions: %d durations kept, %+v from %v", a.Inputs.Decisions, kept, got, a.From)
		}
	}
}
