// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-parts metrics,servers": `unknown part "servers"`,
		"-runs 0":                "at least 1",
		"-size 2501":             "from 1 to 2500",
		"-case request":          "-case needs -parts metrics",
		"-case ( -parts metrics": "missing closing )",
		"metrics":                `unexpected argument "metrics"`,
		"-nonsense":              "flag provided but not defined",
	} {
		if _, err := parseFlags(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want one with %q", args, err, want)
		}
	}
	o, err := parseFlags([]string{"-quick", "-runs", "9"}, io.Discard)
	if err != nil || o.runs != 1 || o.benchtime != "1x" || len(o.parts) != 4 {
		t.Errorf("-quick gives %+v, %v", o, err)
	}
	if o, err = parseFlags([]string{"-parts", "none"}, io.Discard); err != nil || len(o.parts) != 0 {
		t.Errorf("-parts none gives %+v, %v", o, err)
	}
}

const root = "../../.."

func kept(t *testing.T) report {
	t.Helper()
	r := report{}
	if err := r.addKept(root + "/docs"); err != nil || len(r) != len(parts) {
		t.Fatalf("%d parts, %v", len(r), err)
	}
	return r
}

// TestPage: the page in docs, and the table in README.md, follow from the kept
// figures.
func TestPage(t *testing.T) {
	t.Parallel()
	r, out := kept(t), t.TempDir()
	readme, err := os.ReadFile(root + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "README.md"), readme, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.save(out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "docs/performance.md", "docs/performance/report.txt"} {
		want, err := os.ReadFile(filepath.Join(root, name))
		got, err2 := os.ReadFile(filepath.Join(out, name))
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s is outdated: run go run ./bench/cmd/benchtable -parts none", name)
		}
	}
}

func TestPageOfTwoParts(t *testing.T) {
	t.Parallel()
	r := kept(t)
	r = report{"report": r["report"], "server": r["server"]}
	r["server"].samples[key{"Server/case=plain", "unmodified"}][0][nanoseconds] *= 9
	page, err := r.page()
	if err != nil || !strings.Contains(page, "## Decision logs") || strings.Contains(page, "## The package") || strings.Contains(page, "### A decision in a program") {
		t.Errorf("the page has parts that were not measured, or lacks one: %v\n%s", err, page)
	}
	if strings.Count(page, "the machine was busy") != 1 || !strings.Contains(page, "While the server figures were taken,") {
		t.Errorf("the page does not warn of the server's figures alone:\n%s", page)
	}
}

// Verdicts and marks that the page does not have.
func TestRows(t *testing.T) {
	t.Parallel()
	r := report{}
	for part, text := range map[string]string{
		"metrics": `
BenchmarkMetrics/case=timer_restart/goroutines=1/impl=opa-2 1000 200 ns/op 0 B/op 0 allocs/op
BenchmarkMetrics/case=timer_restart/goroutines=1/impl=regometer-2 1000 150 ns/op 8 B/op 1 allocs/op
BenchmarkMetrics/case=timer_restart/goroutines=1/impl=floor-2 1000 100 ns/op 0 B/op 0 allocs/op
BenchmarkMetrics/case=timer_restart/goroutines=1/impl=opa-2 1000 400 ns/op 0 B/op 0 allocs/op
BenchmarkMetrics/case=timer_restart/goroutines=1/impl=regometer-2 1000 300 ns/op 8 B/op 1 allocs/op
BenchmarkMetrics/case=timer_restart/goroutines=1/impl=floor-2 1000 200 ns/op 0 B/op 0 allocs/op
`,
		"embedded": `
BenchmarkDecision/case=noop/impl=opa-2 10 1000 ns/op 500 B/op 90 allocs/op
BenchmarkDecision/case=noop/impl=regometer-2 10 1000 ns/op 500 B/op 90 allocs/op
BenchmarkDecision/case=marshal/impl=opa-2 10 2000 ns/op 900 B/op 120 allocs/op
BenchmarkDecision/case=marshal/impl=regometer-2 10 1600 ns/op 700 B/op 115 allocs/op
BenchmarkDecision/case=append/impl=regometer-2 10 900 ns/op 600 B/op 93 allocs/op
`,
		"stages": `
BenchmarkAdd/form=map/goroutines=1/impl=regometer-2 100 700 ns/op 0 B/op 0 allocs/op
`,
		"server": `
BenchmarkServer/case=plain/impl=unmodified 1 100 ns/op 14200 B/op 181 allocs/op
BenchmarkServer/case=plain/impl=plugin 1 110 ns/op 13900 B/op 181 allocs/op
`,
		"report": `
BenchmarkReport/case=ndjson/impl=regometer 1 3000000 ns/op 600 MB/s 97000000 max-B
BenchmarkReport/case=ndjson/impl=duckdb 1 2500000 ns/op 800 MB/s 150000000 max-B
`,
	} {
		var err error
		if r[part], err = parse(part, []byte(strings.Repeat(text, 8))); err != nil {
			t.Fatal(err)
		}
	}
	text := r.text()
	for _, want := range []string{
		// The machine becomes twice as slow, but ratios are those of one run.
		"| 0.75 (0.75–0.75) | **more** | 1.50 | time 0.48, floor 1.35, allocs 0 | **missed**: time, floor, allocs |",
		"| -100 ns, 3 | less than the noise |  | time 0.30, allocs 4 | **missed**: time |",
		"| 110 ns; **1.10 (1.10–1.10) more** | allocations below OPA's, bytes below OPA's | **missed**: allocations |",
		"| 700 ns | 0 B | 0 | time 600 ns, allocations 0 | **missed**: time |",
		"| 600 MB/s | **0.75 (0.75–0.75) slower** |",
		"| 8 KB a decision: throughput by DuckDB's | – | at least 8.00 | not measured |",
		"| the most memory of any run | 97.0 MB | at most 96.0 MB | **missed** |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the tables lack %q in\n%s", want, text)
		}
	}
}

// A row is slower if its runs leave no doubt. Neither a median above 1 nor all
// of a few runs suffice.
func TestMarked(t *testing.T) {
	t.Parallel()
	nine := []float64{1.1, 1.2, 1.2, 1.3, 1.1, 1.2, 1.1, 1.2, 1.2}
	for _, test := range []struct {
		ratios []float64
		want   string
	}{
		{append(nine, 1.3), "**1.20 (1.10–1.30) slower**"},
		{append(nine, 0.8), "1.20 (0.80–1.30)"},
		{slices.Concat(nine, nine, []float64{1.2, 0.8}), "**1.20 (1.10–1.20) slower**"},
		{nine[:7], "1.20"},
		{[]float64{1.004, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.3}, "1.20 (1.00–1.30)"},
		{[]float64{0.5, 0.5, 0.6, 0.5, 0.5, 0.5, 0.5, 0.5}, "0.50 (0.50–0.60)"},
		{nil, "–"},
	} {
		if got := spreadOf(slices.Clone(test.ratios)).marked("slower"); got != test.want {
			t.Errorf("%v: %s, want %s", test.ratios, got, test.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	const line = "BenchmarkServer/case=plain/impl=a 1 2 ns/op\n"
	for text, want := range map[string]string{
		line + line + strings.Replace(line, "=a", "=b", 1): "measure this part again",
		strings.Replace(line, "2", "x", 1):                 "x",
	} {
		if _, err := parse("server", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", text, err, want)
		}
	}
}
