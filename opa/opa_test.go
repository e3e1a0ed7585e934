// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opa_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"testing"

	opametrics "github.com/open-policy-agent/opa/v1/metrics"

	"github.com/regometer/regometer/internal/race"
	"github.com/regometer/regometer/metrics"
	"github.com/regometer/regometer/opa"
)

// bare hides everything of a collection except the interface's methods, as an
// embedder's own wrapper does.
type bare struct{ metrics.Metrics }

// withText and withTimers have one of the two optional methods.
type (
	withText   struct{ bare }
	withTimers struct{ bare }
)

func (withText) String() string           { return "" }
func (withTimers) Timers() map[string]any { return nil }

func record(m opametrics.Metrics) {
	m.Timer(opametrics.RegoQueryEval).Start()
	m.Timer(opametrics.RegoQueryEval).Stop()
	m.Counter("hits <&> misses").Add(300)
	m.Histogram("sizes").Update(1000)
	m.Histogram("sizes").Update(3000)
}

// tagged cannot be compared.
type tagged struct {
	metrics.Metrics
	_ []string
}

// Wrappings are printed and compared as their collections are.
func TestComparedAndPrinted(t *testing.T) {
	for _, m := range []metrics.Metrics{metrics.NoOp(), metrics.New()} {
		if got, want := fmt.Sprintf("%v %+v", opa.Metrics(m), opa.Metrics(m)), fmt.Sprintf("%v %+v", m, m); got != want {
			t.Errorf("prints %s, want %s", got, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("comparing what cannot be compared does not panic")
		}
	}()
	m := tagged{Metrics: metrics.New()}
	_ = opa.Metrics(m) == opa.Metrics(m)
}

func TestUnwrap(t *testing.T) {
	for name, m := range map[string]metrics.Metrics{"New": metrics.New(), "NoOp": metrics.NoOp(), "wrapped": bare{metrics.New()}} {
		if got, ok := opa.Unwrap(opa.Metrics(m)); !ok || got != m {
			t.Errorf("%s: Unwrap(Metrics(m)) = %v, %v, want m, true", name, got, ok)
		}
		if opa.Metrics(m) != opa.Metrics(m) {
			t.Errorf("%s: two wrappings of one collection are not equal", name)
		}
	}
	for _, m := range []opametrics.Metrics{nil, opametrics.New()} {
		if ours, ok := opa.Unwrap(m); ok || ours != nil {
			t.Errorf("Unwrap(%v) = %v, %v, want nil, false", m, ours, ok)
		}
	}
	if m := opa.Metrics(nil); m != nil {
		t.Errorf("Metrics(nil) = %v, want nil, for which OPA makes its own collection", m)
	}
	if opa.Metrics(metrics.New()) == opa.Metrics(metrics.New()) {
		t.Error("wrappings of two collections are equal")
	}
}

// TestOptionalInterfaces checks that the adapter has the optional methods that
// OPA and fmt ask for, exactly if the collection has them.
func TestOptionalInterfaces(t *testing.T) {
	for _, test := range []struct {
		name string
		m    metrics.Metrics
		want bool
	}{
		{"New", metrics.New(), true},
		{"NoOp", metrics.NoOp(), false},
		{"wrapped", bare{metrics.New()}, false},
		{"with a text", withText{bare{metrics.New()}}, false},
		{"with timers", withTimers{bare{metrics.New()}}, false},
	} {
		m := opa.Metrics(test.m)
		if _, ok := m.(fmt.Stringer); ok != test.want {
			t.Errorf("%s: Stringer: %v, want %v", test.name, ok, test.want)
		}
		if _, ok := m.(opametrics.TimerMetrics); ok != test.want {
			t.Errorf("%s: TimerMetrics: %v, want %v", test.name, ok, test.want)
		}
	}

	ours := metrics.New()
	theirs := opa.Metrics(ours)
	record(theirs)
	if got, want := fmt.Sprint(theirs), fmt.Sprint(ours); got != want {
		t.Errorf("String() = %s, want %s", got, want)
	}
	got, want := theirs.(opametrics.TimerMetrics).Timers(), ours.(metrics.TimerMetrics).Timers()
	if !reflect.DeepEqual(got, want) || len(got) != 1 {
		t.Errorf("Timers() = %v, want %v", got, want)
	}
	if got, want := logged(theirs), logged(ours); got != want {
		t.Errorf("logged %s, want %s", got, want)
	}
}

func logged(m any) string {
	var line bytes.Buffer
	options := &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	slog.New(slog.NewJSONHandler(&line, options)).Info("decision", "metrics", m)
	slog.New(slog.NewTextHandler(&line, options)).Info("decision", "metrics", m)
	return line.String()
}

func TestJSON(t *testing.T) {
	recorded := func(m opametrics.Metrics) opametrics.Metrics { record(m); return m }
	for name, m := range map[string]opametrics.Metrics{
		"New":     recorded(opa.Metrics(metrics.New())),
		"empty":   opa.Metrics(metrics.New()),
		"NoOp":    opa.Metrics(metrics.NoOp()),
		"wrapped": recorded(opa.Metrics(bare{metrics.New()})),
		"OPA's":   recorded(opametrics.New()),
		"nil":     nil,
	} {
		want, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := opa.AppendJSON([]byte("> "), m)
		if err != nil || string(got) != "> "+string(want) {
			t.Errorf("%s: AppendJSON gave\n%s, %v, want\n> %s", name, got, err, want)
		}
		if ours, ok := opa.Unwrap(m); ok {
			if direct, err := json.Marshal(ours); err != nil || !bytes.Equal(direct, want) {
				t.Errorf("%s: through the adapter\n%s, without it\n%s, %v", name, want, direct, err)
			}
		}
	}
}

func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	ours := metrics.New()
	theirs := opa.Metrics(ours)
	record(theirs)
	lookUps := testing.AllocsPerRun(100, func() {
		theirs.Timer(opametrics.RegoQueryEval).Start()
		theirs.Timer(opametrics.RegoQueryEval).Stop()
		theirs.Counter("hits <&> misses").Incr()
		theirs.Histogram("sizes")
	})
	if lookUps != 0 {
		t.Errorf("look-ups allocate %v times, want 0", lookUps)
	}
	var sink opametrics.Metrics
	if n := testing.AllocsPerRun(100, func() { sink = opa.Metrics(ours) }); n != 1 {
		t.Errorf("Metrics allocates %v times, want 1", n)
	}
	text, err := opa.AppendJSON(nil, sink)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { text, _ = opa.AppendJSON(text[:0], theirs) }); n != 0 {
		t.Errorf("AppendJSON into a buffer with room allocates %v times, want 0", n)
	}
}
