// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

func newRollup(t testing.TB, o rollup.Options) *rollup.Rollup {
	t.Helper()
	r, err := rollup.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newRegistry returns a pedantic registry with a collector over r.
func newRegistry(t testing.TB, r *rollup.Rollup, o prom.Options) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(collector(t, r, o)); err != nil {
		t.Fatal(err)
	}
	return registry
}

// numbers returns the timers and counters of a decision.
func numbers(byKey map[string]int64) (all []rollup.Number) {
	for key, n := range byKey {
		all = append(all, rollup.Number{Key: key, Value: n})
	}
	return all
}

// families maps names to families.
type families map[string]*dto.MetricFamily

func gather(t testing.TB, g prometheus.Gatherer) families {
	t.Helper()
	list, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	m := families{}
	for _, f := range list {
		m[f.GetName()] = f
	}
	return m
}

var (
	text     = expfmt.NewFormat(expfmt.TypeTextPlain)
	protobuf = expfmt.NewFormat(expfmt.TypeProtoDelim)
)

func encode(t testing.TB, g prometheus.Gatherer, format expfmt.Format) []byte {
	t.Helper()
	var b bytes.Buffer
	scrape(t, &b, g, format)
	return b.Bytes()
}

func scrape(t testing.TB, w io.Writer, g prometheus.Gatherer, format expfmt.Format) {
	t.Helper()
	list, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	e := expfmt.NewEncoder(w, format)
	for _, f := range list {
		if err := e.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
}

func decode(t testing.TB, b []byte, format expfmt.Format) families {
	t.Helper()
	m := families{}
	for d := expfmt.NewDecoder(bytes.NewReader(b), format); ; {
		f := new(dto.MetricFamily)
		switch err := d.Decode(f); {
		case errors.Is(err, io.EOF):
			return m
		case err != nil:
			t.Fatalf("%v in\n%s", err, b)
		}
		m[f.GetName()] = f
	}
}

// countSeries counts the lines of a text exposition that are samples.
func countSeries(b []byte) int {
	n := 0
	for line := range bytes.Lines(b) {
		if line[0] != '#' {
			n++
		}
	}
	return n
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// lognormal returns a duration in nanoseconds around 100 µs, at least 1.
func lognormal(random *rand.Rand) int64 {
	return max(1, int64(1e5*math.Exp(1.5*random.NormFloat64())))
}
