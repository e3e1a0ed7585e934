// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/bench"
	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/opa/opabuild"
)

// The page says what the steps' texts and the kept figures say.
func TestPage(t *testing.T) {
	t.Parallel()
	steps, err := opabuild.Series()
	if err != nil {
		t.Fatal(err)
	}
	r, err := loadReport(filepath.Join("..", "..", "..", "docs", "upstream"), steps)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "upstream.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want, err := r.page(); err != nil || string(got) != want {
		t.Errorf("docs/upstream.md is not that of the steps and of docs/upstream (%v); run: go run ./bench/cmd/upstream -report", err)
	}
	for _, s := range steps {
		if _, ok := r.lines[stepImpl(s)]; !ok {
			t.Errorf("docs/upstream/%s does not have step %d; run: go run ./bench/cmd/upstream -parts patches", linesFile, s.Number)
		}
	}
}

// A step's cases are rows that are measured with one goroutine.
func TestStepCases(t *testing.T) {
	t.Parallel()
	for _, c := range stepCases {
		if !slices.ContainsFunc(bench.Rows, func(r bench.Row) bool { return r.Name == c && slices.Contains(r.Goroutines, 1) }) {
			t.Errorf("no row %s", c)
		}
	}
}

// writeFigures writes figures of eight runs of two steps: times and bytes of
// OPA, the first step, the series and the drop-in.
func writeFigures(t *testing.T, dir string, figures map[string][4][2]float64) {
	t.Helper()
	for i, impl := range []string{unmodified, "01-one", "02-two", dropIn} {
		var b strings.Builder
		b.WriteString("cpu: A CPU\ncommand: go run ./cmd/upstream\n")
		for range 8 {
			for name, f := range figures {
				fmt.Fprintf(&b, "Benchmark%s-2 10 %g ns/op %g B/op 1 allocs/op\n", name, f[i][0], f[i][1])
			}
		}
		if err := os.WriteFile(filepath.Join(dir, impl+".txt"), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	steps := []opabuild.Step{{Number: 1, Name: "one", Title: "metrics: a step's title"}, {Number: 2, Name: "two", Body: "Why."}}
	dir := t.TempDir()
	writeFigures(t, dir, map[string][4][2]float64{
		metric("marshal_opa"):                  {{100, 1000}, {100, 500}, {50, 400}, {25, 200}},
		metric("timer_restart"):                {{100, 0}, {110, 0}, {80, 0}, {50, 0}},
		metric("request"):                      {{100, 100}, {100, 100}, {100, 100}, {100, 100}},
		metric("fill"):                         {{100, 100}, {100, 100}, {120, 130}, {50, 50}},
		"Metrics/case=request/goroutines=2":    {{100, 100}, {100, 100}, {90, 100}, {50, 50}},
		"Decision/case=instrumented":           {{100, 100}, {0, 0}, {60, 20}, {50, 10}},
		"Metrics/case=new_unread/goroutines=1": {{100, 100}, {100, 100}, {100, 100}, {200, 50}},
	})
	if err := os.WriteFile(filepath.Join(dir, linesFile), []byte("20 1 01-one\n3 4 02-two\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var server strings.Builder
	for _, mode := range measure.Modes {
		for i, s := range serverSetups {
			fmt.Fprintf(&server, "BenchmarkServer/case=%s/impl=%s 10 %d ns/op 0 cpu-ns/op %d B/op 5 allocs/op\n", mode.Name, s.impl, 100-20*i, 1000-100*i)
		}
	}
	for i, s := range serverSetups {
		fmt.Fprintf(&server, "BenchmarkEval/case=eval/impl=%s 10 %d ns/op\n", s.impl, 100-20*i)
		fmt.Fprintf(&server, "BenchmarkEval/case=eval_--instrument_--count=100/impl=%s 10 %d ns/op\n", s.impl, 100-20*i)
	}
	if err := os.WriteFile(filepath.Join(dir, serverFile), []byte(strings.Repeat(server.String(), 8)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "02-two.benchstat"), []byte("TABLE\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := loadReport(dir, steps)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ what, got, want string }{
		{"order", r.order(), "| 1. [metrics: a step's title](#step-1-metrics-a-steps-title) | 21 (20 added, 1 deleted) |\n"},
		{"order", r.order(), "at most 800 | 28 |\n"},
		{"steps", r.stepTexts(), "\n\nWhy.\n\nChanged lines without tests: 3 added, 4 deleted.\n\nBeside the step before; [beside the unmodified OPA](upstream/02-two.all.benchstat):\n\n```\nTABLE\n```\n"},
		{"header", r.header(), "| benchmarks |  | A CPU,"},
		{"gains", r.gains(), "| marshal_opa | · 0.50 | 0.50 0.80 | 0.50 0.40 |\n"},
		{"gains", r.gains(), "| timer_restart | **1.10** · | 0.73 · | 0.80 · |\n"},
		{"whole", r.whole(), "| 0.50 (0.50–0.50) | 0.25 (0.25–0.25) | 67 % | 75 % | met |\n"},
		{"whole", r.whole(), "| 40 % | – | **missed**: time |\n"},
		{"whole", r.whole(), "| – | – | nothing to share |\n"},
		{"whole", r.whole(), "| … instrumented | 100 ns, 100 B, 1 | 60.0 ns, 20 B, 1 | 50.0 ns, 10 B, 1 | 0.60 (0.60–0.60) | 0.50 (0.50–0.50) | 80 % | 89 % |  |\n"},
		{"rows", r.rows(), "| **1.20 (1.20–1.20) slower** | **1.30 (1.30–1.30) more** |\n"},
		{"rows", r.rows(), "\nSlower than OPA's beyond noise, of all rows: `fill` (1).\n\nMore bytes than OPA's beyond noise, of all rows: `fill` (1).\n"},
		{"server", r.serverTable(), "| plain | with the series | 80.0 ns; 0.80 (0.80–0.80) | – | 900 B; 0.90 (0.90–0.90) | 5 | 50 % | – | 50 % | **missed**: time, bytes |\n"},
		{"eval", r.evalTable(), "| `opa eval --instrument --count=100` | 100 ns | 80.0 ns; 0.80 (0.80–0.80) | 60.0 ns; 0.60 (0.60–0.60) |\n"},
	} {
		if !strings.Contains(test.got, test.want) {
			t.Errorf("%s lacks %q:\n%s", test.what, test.want, test.got)
		}
	}
	if strings.Contains(r.rows(), "A request: New, 4 timers, 1 counter | 1 |") || !strings.Contains(r.rows(), "| 2 |") {
		t.Errorf("the rows are\n%s", r.rows())
	}
}

// What the drop-in does not save is no share of anything.
func TestShare(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		opa, series, dropIn, want float64
		ok                        bool
	}{{100, 40, 10, 2. / 3, true}, {100, 110, 50, -.2, true}, {100, 50, 99, 0, false}, {100, 50, 120, 0, false}, {0, 0, 0, 0, false}} {
		r := measure.Results{Samples: map[measure.Key][]measure.Sample{}}
		for impl, v := range map[string]float64{unmodified: test.opa, "s": test.series, dropIn: test.dropIn} {
			r.Samples[measure.Key{Name: "x", Impl: impl}] = []measure.Sample{{measure.Bytes: v}}
		}
		if got, ok := share(r, "x", "s", memory); math.Abs(got-test.want) > 1e-9 || ok != test.ok {
			t.Errorf("%+v: %v, %v", test, got, ok)
		}
	}
}

func TestPageWithoutFigures(t *testing.T) {
	t.Parallel()
	r, err := loadReport(t.TempDir(), []opabuild.Step{{Number: 1, Name: "one", Title: "metrics: one"}})
	if err != nil {
		t.Fatal(err)
	}
	if page, err := r.page(); err != nil || !strings.Contains(page, notMeasured) || strings.Contains(page, "NaN") {
		t.Errorf("%v\n%s", err, page)
	}
}
