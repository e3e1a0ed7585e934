// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// exhaust sends r every label that a rollup with these options tells apart, and
// more.
func exhaust(r *rollup.Rollup, o rollup.Options) {
	var timers, zeros, counters []rollup.Number
	known := stages.DefaultStages()
	for _, s := range o.Stages {
		known = append(known, stages.Entry(s))
	}
	for _, s := range known {
		timers = append(timers, rollup.Number{Key: "timer_" + strings.TrimSuffix(s.Name, "*") + "_ns", Value: 1})
	}
	for _, name := range append(stages.DefaultCounters(), o.Counters...) {
		counters = append(counters, rollup.Number{Key: "counter_" + name, Value: 1})
	}
	for i := range 10 {
		timers = append(timers, rollup.Number{Key: fmt.Sprintf("timer_s%d_ns", i), Value: 1})
		counters = append(counters, rollup.Number{Key: fmt.Sprintf("counter_c%d", i), Value: 1})
	}
	for _, n := range timers {
		zeros = append(zeros, rollup.Number{Key: n.Key})
	}
	for _, path := range []string{outcome.Query, "p"} {
		r.Add(rollup.Decision{Path: path, Numbers: timers})
		r.Add(rollup.Decision{Path: path, Numbers: zeros})
	}
	for i := range 250 {
		r.Add(rollup.Decision{Path: fmt.Sprint("p", i), Numbers: append(timers, counters...)})
	}
	for _, code := range append(stages.ErrorCodes(), "") {
		r.Add(rollup.Decision{Path: "p", Outcome: outcome.Failed, Code: code, Numbers: zeros})
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

func TestMaxSeries(t *testing.T) {
	t.Parallel()
	var more []prometheus.Metric
	for _, name := range []string{"one", "two"} {
		more = append(more, prometheus.MustNewConstMetric(prometheus.NewDesc(name, "", nil, nil), prometheus.GaugeValue, 1))
	}
	for _, o := range []rollup.Options{
		{Bounds: prom.DefaultBounds()},
		{},
		bounds(t, 0.001, 1),
		{Paths: 3, Stages: []rollup.Stage{{Name: "s1"}, {Name: "s2"}}, Counters: []string{"c1", "c2"}},
		{Paths: 200, PathStages: []string{}},
		{PathStages: []string{"server_handler", "rego_query_eval", "rego_query_parse"}, Counters: []string{"c1", "c2", "c1"}},
		{Paths: 1, Stages: []rollup.Stage{{Name: "s1", Parent: "server_handler"}, {Name: "s2_*"}}},
	} {
		want, err := prom.MaxSeries(o)
		if err != nil {
			t.Fatal(err)
		}
		r := newRollup(t, o)
		exhaust(r, o)
		for _, checked := range []bool{false, true} {
			const others = 3
			registry, want := prometheus.NewRegistry(), want+len(more)
			registry.MustRegister(collector(t, r, prom.Options{
				More: func() ([]prometheus.Metric, int) { return more, others }, Checked: checked,
			}))
			if checked {
				want -= 2
			}
			text := encode(t, registry, text)
			if n := countSeries(text); n != want || checked == strings.Contains(string(text), "opa_decision_values_invalid_total") {
				t.Errorf("%+v, checked %t: %d series after all possible labels, want %d, or wrong ones", o, checked, n, want)
			}
			if line := fmt.Sprintf("\nopa_decision_metric_series %d\n", want+others); !strings.Contains(string(text), line) {
				t.Errorf("%+v, checked %t: no line %s", o, checked, line)
			}
		}
	}
	if _, err := prom.MaxSeries(rollup.Options{Counters: []string{""}}); err == nil {
		t.Error("invalid options: no error")
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	want := bounds(t, 5e-05, 0.0001, 0.00015, 0.00025, 0.0004, 0.0006, 0.001, 0.002, 0.004, 0.01, 0.02, 0.05, 0.1, 0.5, 1.25, 6, 10).Bounds
	if got := prom.DefaultBounds(); !slices.Equal(got, want) {
		t.Errorf("the default bounds are %v, want %v", got, want)
	}
	if none, err := prom.Bounds([]float64{}...); len(none) != 0 || err != nil {
		t.Errorf("no seconds are the bounds %v, %v, want none", none, err)
	}
	for _, test := range []struct {
		seconds []float64
		want    string
	}{
		{[]float64{math.NaN()}, "bound 0 is NaN: a bound must be a positive number"},
		{[]float64{1, math.Inf(1)}, "bound 1 is +Inf: a bound must be a positive number below +Inf"},
		{[]float64{0, 1}, "bound 0 is 0"},
		{[]float64{1e-10}, "bound 0 is 1e-10: a bound must be a whole number of nanoseconds"},
		{[]float64{1e10}, "below 292 years"},
		{[]float64{1, 1}, "bounds must ascend"},
	} {
		if _, err := prom.Bounds(test.seconds...); err == nil || !strings.HasPrefix(err.Error(), "prom: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: error %v, want one with %q", test.seconds, err, test.want)
		}
	}
}
