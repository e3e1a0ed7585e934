// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// flood sends r more paths, stages and counters than any limit has room for, in
// an order that a seed decides.
func flood(r *rollup.Rollup, seed uint64, decisions int) {
	random := rand.New(rand.NewPCG(seed, 0))
	stages, counters, codes := rollup.DefaultStages(), rollup.DefaultCounters(), append(rollup.ErrorCodes(), "invented")
	for range decisions {
		m := []rollup.Number{{Key: "timer_of_mine_ns", Value: -1}, {Key: "counter_of_mine", Value: -1}}
		for range 1 + random.IntN(8) {
			stage := strings.TrimSuffix(stages[random.IntN(len(stages))].Name, "*")
			m = append(m,
				rollup.Number{Key: "timer_" + stage + "_ns", Value: random.Int64N(1e10) * random.Int64N(2)},
				rollup.Number{Key: fmt.Sprintf("timer_s%d_ns", random.IntN(40)), Value: random.Int64N(1e10)},
				rollup.Number{Key: "counter_" + counters[random.IntN(len(counters))], Value: 1},
				rollup.Number{Key: fmt.Sprintf("counter_c%d", random.IntN(40)), Value: random.Int64N(10)})
		}
		path := fmt.Sprint("p", random.IntN(250))
		if random.IntN(10) == 0 {
			path = rollup.Query
		}
		r.AddNumbers(rollup.Decision{
			Path: path, Outcome: rollup.Outcome(random.IntN(6)), Code: codes[random.IntN(len(codes))],
		}, m)
	}
}

// exhaust sends r all that a rollup with these options tells apart, and more.
func exhaust(r *rollup.Rollup, o rollup.Options) {
	var timers, zeros, counters []rollup.Number
	for _, s := range append(rollup.DefaultStages(), o.Stages...) {
		timers = append(timers, rollup.Number{Key: "timer_" + strings.TrimSuffix(s.Name, "*") + "_ns", Value: 1})
	}
	for _, name := range append(rollup.DefaultCounters(), o.Counters...) {
		counters = append(counters, rollup.Number{Key: "counter_" + name, Value: 1})
	}
	for i := range 10 {
		timers = append(timers, rollup.Number{Key: fmt.Sprintf("timer_s%d_ns", i), Value: 1})
		counters = append(counters, rollup.Number{Key: fmt.Sprintf("counter_c%d", i), Value: 1})
	}
	for _, n := range timers {
		zeros = append(zeros, rollup.Number{Key: n.Key})
	}
	for _, path := range []string{rollup.Query, "p"} {
		r.AddNumbers(rollup.Decision{Path: path}, timers)
		r.AddNumbers(rollup.Decision{Path: path}, zeros)
	}
	for i := range 250 {
		r.AddNumbers(rollup.Decision{Path: fmt.Sprint("p", i)}, append(timers, counters...))
	}
	for _, code := range append(rollup.ErrorCodes(), "") {
		r.AddNumbers(rollup.Decision{Path: "p", Outcome: rollup.Error, Code: code}, zeros)
	}
}

func bounds(t testing.TB, seconds ...float64) (o rollup.Options) {
	t.Helper()
	b, err := prom.Bounds(seconds...)
	if err != nil {
		t.Fatal(err)
	}
	o.Bounds = b
	return o
}

func maxSeries(t testing.TB, o rollup.Options) int {
	t.Helper()
	n, err := prom.MaxSeries(o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSeriesBound(t *testing.T) {
	t.Parallel()
	for i, o := range []rollup.Options{
		{Bounds: prom.DefaultBounds()},
		{},
		bounds(t, 0.001, 1),
		{Limits: rollup.Limits{Paths: 3, Stages: 2, Counters: 2}},
		{Limits: rollup.Limits{Paths: 200, Stages: 5, Counters: 5}, PathStages: []string{}},
		{PathStages: []string{"server_handler", "rego_query_eval", "rego_query_parse"}, Counters: []string{"c1", "c2", "c1"}},
		{Limits: rollup.Limits{Paths: 1}, Stages: []rollup.Stage{{Name: "s1", Parent: "server_handler"}, {Name: "s2_*"}}},
	} {
		bound := maxSeries(t, o)
		check := func(r *rollup.Rollup) (series int) {
			t.Helper()
			b := encode(t, newRegistry(t, r, prom.Options{}), text)
			series = countSeries(b)
			if series > bound {
				t.Errorf("%+v: %d series, want at most %d", o, series, bound)
			}
			if got := decode(t, b, text).value(t, "opa_decision_metric_series"); got != float64(series) {
				t.Errorf("%+v: says %v series, has %d", o, got, series)
			}
			return series
		}
		r := newRollup(t, o)
		for range 5 {
			check(r)
			flood(r, uint64(i), 500)
		}
		check(r)
		r = newRollup(t, o)
		exhaust(r, o)
		if series := check(r); series != bound {
			t.Errorf("%+v: %d series of all that there can be, want %d", o, series, bound)
		}
	}
	if _, err := prom.MaxSeries(rollup.Options{Counters: []string{""}}); err == nil {
		t.Error("options that no rollup can have")
	}
}

// TestOverflowCounted asks that what has no label of its own is counted under
// its kind.
func TestOverflowCounted(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{Limits: rollup.Limits{Paths: 1}})
	flood(r, 9, 100)
	f := gather(t, newRegistry(t, r, prom.Options{}))
	for _, kind := range []string{"path", "stage", "counter"} {
		if f.value(t, "opa_decision_label_overflow_total", "kind", kind) == 0 {
			t.Errorf("no overflow of kind %s", kind)
		}
	}
	var decisions float64
	for _, m := range f["opa_decisions_total"].GetMetric() {
		decisions += m.GetCounter().GetValue()
	}
	if decisions != 100 {
		t.Errorf("%v decisions, want 100", decisions)
	}
}
