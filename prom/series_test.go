// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// flood sends r more paths, stages and counters than any limit has room for, in an order that a seed decides.
func flood(r *rollup.Rollup, seed uint64, decisions int) {
	random := rand.New(rand.NewPCG(seed, 0))
	for range decisions {
		m := []rollup.Number{{Key: "timer_of_mine_ns", Value: -1}, {Key: "counter_of_mine", Value: -1}}
		for range 1 + random.IntN(8) {
			m = append(m, rollup.Number{Key: fmt.Sprintf("timer_s%d_ns", random.IntN(40)), Value: random.Int64N(1e10)},
				rollup.Number{Key: fmt.Sprintf("counter_c%d", random.IntN(40)), Value: random.Int64N(10)})
		}
		r.AddNumbers(fmt.Sprint("p", random.IntN(1000)), rollup.Outcome(random.IntN(5)), m)
	}
}

func TestSeriesBound(t *testing.T) {
	t.Parallel()
	if got := prom.MaxSeries(rollup.Limits{}, prom.Options{}); got > 2000 {
		t.Errorf("at most %d series by default, want 2000 or fewer", got)
	}
	for i, c := range []struct {
		limits  rollup.Limits
		options prom.Options
	}{
		{},
		{options: prom.Options{ClassicBuckets: []float64{}}},
		{options: prom.Options{ClassicBuckets: []float64{0.001, 1}}},
		{limits: rollup.Limits{Paths: 3, Stages: 2, Counters: 2, Histograms: 9, Events: 9}},
		{limits: rollup.Limits{Paths: 200, Stages: 5, Counters: 5, Histograms: 600, Events: 600}},
	} {
		r := newRollup(t, rollup.Options{Limits: c.limits})
		registry := newRegistry(t, r, c.options)
		flood(r, uint64(i), 3000)
		b := encode(t, registry, text)
		bound, series := prom.MaxSeries(c.limits, c.options), countSeries(b)
		if series > bound || series < bound/2 {
			t.Errorf("%+v: %d series, want at most %d and more than half of it", c, series, bound)
		}
		if got := decode(t, b, text).value(t, "opa_decision_metric_series"); got != float64(series) {
			t.Errorf("%+v: says %v series, has %d", c, got, series)
		}
	}
}

// TestOverflowCounted asks that what has no label of its own is counted under the kind of its limit.
func TestOverflowCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   string
		limits rollup.Limits
	}{
		{"path", rollup.Limits{Paths: 1}},
		{"stage", rollup.Limits{Stages: 1}},
		{"event", rollup.Limits{Counters: 1}},
	} {
		r := newRollup(t, rollup.Options{Limits: c.limits})
		flood(r, 9, 100)
		f := gather(t, newRegistry(t, r, prom.Options{}))
		if f.value(t, "opa_decision_label_overflow_total", "kind", c.kind) == 0 {
			t.Errorf("%+v: no overflow of kind %s", c.limits, c.kind)
		}
		var decisions float64
		for _, m := range f["opa_decisions_total"].GetMetric() {
			decisions += m.GetCounter().GetValue()
		}
		if decisions != 100 {
			t.Errorf("%+v: %v decisions, want 100", c.limits, decisions)
		}
	}
}

// TestDefaultLimits asks that zero limits mean the same to MaxSeries as to a rollup, where each of them is reached.
func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	limits := rollup.Limits{Paths: 50, Stages: 16, Counters: 16, Histograms: 100, Events: 200}
	if zero, explicit := prom.MaxSeries(rollup.Limits{}, prom.Options{}), prom.MaxSeries(limits, prom.Options{}); zero != explicit {
		t.Errorf("at most %d series, want %d", zero, explicit)
	}
	zero, explicit := newRollup(t, rollup.Options{}), newRollup(t, rollup.Options{Limits: limits})
	for _, r := range []*rollup.Rollup{zero, explicit} {
		for i := range 60 { // or there would be no room for their stages and events first
			r.Add(fmt.Sprint("p", i), rollup.Allowed, nil)
		}
		flood(r, 1, 3000)
	}
	f := gather(t, newRegistry(t, zero, prom.Options{}))
	for _, m := range f["opa_decision_label_overflow_total"].GetMetric() {
		if m.GetCounter().GetValue() == 0 {
			t.Errorf("limit not reached: %v", m)
		}
	}
	a := encode(t, newRegistry(t, zero, prom.Options{}), text)
	b := encode(t, newRegistry(t, explicit, prom.Options{}), text)
	if !bytes.Equal(a, b) {
		t.Errorf("zero limits differ from %+v", limits)
	}
}

// TestSeriesBoundIsReached fills all that a rollup has room for.
func TestSeriesBoundIsReached(t *testing.T) {
	t.Parallel()
	limits := rollup.Limits{Paths: 3, Stages: 1, Counters: 1, Histograms: 3 + 2, Events: 3 + 2}
	r := newRollup(t, rollup.Options{Limits: limits})
	add := func(path, stage, counter string) {
		r.AddNumbers(path, rollup.Allowed, []rollup.Number{{Key: "timer_" + stage + "_ns", Value: 1}, {Key: "counter_" + counter, Value: 1}})
	}
	for _, path := range []string{"a", "b", "c", "d"} {
		add(path, "s", "c")
	}
	add("d", "t", "d")
	got := countSeries(encode(t, newRegistry(t, r, prom.Options{}), text))
	if want := prom.MaxSeries(limits, prom.Options{}); got != want {
		t.Errorf("%d series, MaxSeries says %d", got, want)
	}
}
