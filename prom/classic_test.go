// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// bounds returns the upper bounds that a text scrape shows.
func bounds(t *testing.T, o prom.Options) []float64 {
	t.Helper()
	r := newRollup(t, rollup.Options{})
	r.Add("p", rollup.Allowed, map[string]any{"timer_server_handler_ns": int64(1)})
	scraped := decode(t, encode(t, newRegistry(t, r, o), text), text)
	var bounds []float64
	for _, b := range scraped["opa_decision_stage_duration_seconds"].GetMetric()[0].GetHistogram().GetBucket() {
		bounds = append(bounds, b.GetUpperBound())
	}
	return bounds
}

func TestClassicBounds(t *testing.T) {
	t.Parallel()
	inf := math.Inf(1)
	if got := bounds(t, prom.Options{}); len(got) != 12 || got[0] != 0x1p-20 || got[10] != 8 || got[11] != inf {
		t.Errorf("default: %v", got)
	}
	if got := bounds(t, prom.Options{ClassicBuckets: []float64{}}); !slices.Equal(got, []float64{inf}) {
		t.Errorf("none: %v", got)
	}
	if got := bounds(t, prom.Options{ClassicBuckets: []float64{0.25, 0.5, 1}}); !slices.Equal(got, []float64{0.25, 0.5, 1, inf}) {
		t.Errorf("powers of two: %v", got)
	}
	var asked []float64
	for b := 1e-9; b <= 9e9; b *= 1.37 {
		asked = append(asked, b)
	}
	for i, got := range bounds(t, prom.Options{ClassicBuckets: asked})[:len(asked)] {
		if off := math.Abs(got/asked[i] - 1); off > 0.045 {
			t.Errorf("%v became %v", asked[i], got)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	for _, c := range []struct {
		options prom.Options
		want    string
	}{
		{prom.Options{ClassicBuckets: []float64{math.NaN()}}, "ClassicBuckets[0] is NaN"},
		{prom.Options{ClassicBuckets: []float64{1, math.Inf(1)}}, "leave it out"},
		{prom.Options{ClassicBuckets: []float64{math.Inf(-1)}}, "positive number of seconds"},
		{prom.Options{ClassicBuckets: []float64{0, 1}}, "ClassicBuckets[0] is 0"},
		{prom.Options{ClassicBuckets: []float64{-1}}, "ClassicBuckets[0] is -1"},
		{prom.Options{ClassicBuckets: []float64{1e-10}}, "between 1e-09 and 9e+09"},
		{prom.Options{ClassicBuckets: []float64{1e10}}, "between 1e-09 and 9e+09"},
		{prom.Options{ClassicBuckets: []float64{1, 0.5}}, "ClassicBuckets[1] is 0.5, after 1"},
		{prom.Options{ClassicBuckets: []float64{1, 1}}, "bounds ascend"},
		{prom.Options{ClassicBuckets: []float64{1, 1.01}}, "both would be 1; leave one out"},
		{prom.Options{Namespace: "1opa"}, `Namespace "1opa"`},
		{prom.Options{Namespace: "opa-server"}, "letters, digits and underscores"},
		{prom.Options{Namespace: "opà"}, "letters, digits and underscores"},
	} {
		if _, err := prom.NewCollector(r, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one with %q", c.options, err, c.want)
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
	for name := range gather(t, newRegistry(t, r, prom.Options{Namespace: "my_opa2"})) {
		if !strings.HasPrefix(name, "my_opa2_decision") {
			t.Error(name)
		}
	}
}

func ExampleMaxSeries() {
	fmt.Println(prom.MaxSeries(rollup.Limits{}, prom.Options{}) <= 2000)
	// Output: true
}
