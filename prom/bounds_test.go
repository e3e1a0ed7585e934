// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// TestBounds: the label le is the number that was given, digit by digit.
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
		{[]float64{math.NaN()}, "bound 0 is NaN: a bound is a positive number"},
		{[]float64{1, math.Inf(1)}, "bound 1 is +Inf: leave it out"},
		{[]float64{math.Inf(-1)}, "bound 0 is -Inf: a bound is a positive number"},
		{[]float64{0, 1}, "bound 0 is 0"},
		{[]float64{-1}, "bound 0 is -1"},
		{[]float64{1e-10}, "bound 0 is 1e-10: a bound is a whole number of nanoseconds"},
		{[]float64{1.0000000001}, "a whole number of nanoseconds"},
		{[]float64{1e10}, "below 292 years"},
		{[]float64{1, 0.5}, "bound 1 is 0.5, after 1: bounds ascend"},
		{[]float64{1, 1}, "bound 1 is 1, after 1: bounds ascend"},
		{make([]float64, 3), "bound 0 is 0"},
	} {
		if _, err := prom.Bounds(test.seconds...); err == nil || !strings.HasPrefix(err.Error(), "prom: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: error %v, want one with %q", test.seconds, err, test.want)
		}
	}
	many := make([]float64, 101)
	for i := range many {
		many[i] = float64(i + 1)
	}
	if _, err := prom.Bounds(many...); err == nil || !strings.Contains(err.Error(), "at most 100") {
		t.Errorf("101 bounds: %v", err)
	}
}

func TestWrongOptions(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	for _, namespace := range []string{"1opa", "opa-server", "opà", "opa:", "@", "[", "`", "{"} {
		if _, err := prom.NewCollector(r, prom.Options{Namespace: namespace}); err == nil || !strings.Contains(err.Error(), "letters, digits and underscores") {
			t.Errorf("%s: error %v", namespace, err)
		}
	}
	if _, err := prom.NewCollector(nil, prom.Options{}); err == nil {
		t.Error("no error without a rollup")
	}
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	fill(r, 10)
	for name := range gather(t, newRegistry(t, r, prom.Options{Namespace: "azAZ_09"})) {
		if !strings.HasPrefix(name, "azAZ_09_decision") {
			t.Error(name)
		}
	}
}

func ExampleMaxSeries() {
	n, err := prom.MaxSeries(rollup.Options{Bounds: prom.DefaultBounds(), Limits: rollup.Limits{Paths: 10}})
	fmt.Println(n <= 1000, err)
	// Output: true <nil>
}
