// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// flood sends r more paths, stages and counters than any limit allows, in an
// order that follows from a seed.
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

// exhaust sends r every label that a rollup with these options tells apart, and
// more.
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
			const more = 5
			b := encode(t, newRegistry(t, r, prom.Options{MoreSeries: func() int { return more }}), text)
			series = countSeries(b)
			if series > bound {
				t.Errorf("%+v: %d series, want at most %d", o, series, bound)
			}
			if got := decode(t, b, text).value(t, "opa_decision_metric_series"); got != float64(series+more) {
				t.Errorf("%+v: the metric says %v series, want %d", o, got, series+more)
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
			t.Errorf("%+v: %d series after all possible labels, want %d", o, series, bound)
		}
	}
	if _, err := prom.MaxSeries(rollup.Options{Counters: []string{""}}); err == nil {
		t.Error("no error of options that no rollup can have")
	}
}

// TestBounds checks that the label le is the given number, digit by digit.
func TestBounds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		options rollup.Options
		want    string
	}{
		{rollup.Options{Bounds: prom.DefaultBounds()}, "1e-05 5e-05 0.0001 0.0005 0.001 0.005 0.01 0.05 0.1 1 10 +Inf"},
		{bounds(t, 0.3, 0.7, 1.1, 2.5), "0.3 0.7 1.1 2.5 +Inf"},
		{bounds(t, 1e-9, 0.123456789, 123456.123456789, 9e9), "1e-09 0.123456789 123456.123456789 9e+09 +Inf"},
		{bounds(t), "+Inf"},
	} {
		r := newRollup(t, test.options)
		r.Add(rollup.Decision{Path: "p"}, map[string]any{"timer_server_handler_ns": int64(1)})
		var les []string
		for line := range strings.Lines(string(encode(t, newRegistry(t, r, prom.Options{}), text))) {
			if _, rest, ok := strings.Cut(line, `opa_decision_stage_duration_seconds_bucket{stage="server_handler",le="`); ok {
				le, _, _ := strings.Cut(rest, `"`)
				les = append(les, le)
			}
		}
		if got := strings.Join(les, " "); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

func TestBoundsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		seconds []float64
		want    string
	}{
		{[]float64{math.NaN()}, "bound 0 is NaN: a bound must be a positive number"},
		{[]float64{1, math.Inf(1)}, "bound 1 is +Inf: a bound must be a positive number below +Inf"},
		{[]float64{math.Inf(-1)}, "bound 0 is -Inf: a bound must be a positive number"},
		{[]float64{0, 1}, "bound 0 is 0"},
		{[]float64{-1}, "bound 0 is -1"},
		{[]float64{1e-10}, "bound 0 is 1e-10: a bound must be a whole number of nanoseconds"},
		{[]float64{1.0000000001}, "a whole number of nanoseconds"},
		{[]float64{1e10}, "below 292 years"},
		{[]float64{1, 0.5}, "bounds ascend"},
		{[]float64{1, 1}, "bounds ascend"},
		{make([]float64, 3), "bound 0 is 0"},
	} {
		if _, err := prom.Bounds(test.seconds...); err == nil || !strings.HasPrefix(err.Error(), "prom: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: error %v, want one with %q", test.seconds, err, test.want)
		}
	}
}

func ExampleMaxSeries() {
	n, err := prom.MaxSeries(rollup.Options{Bounds: prom.DefaultBounds(), Limits: rollup.Limits{Paths: 10}})
	fmt.Println(n <= 1000, err)
	// Output: true <nil>
}
