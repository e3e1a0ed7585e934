// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-parts metrics,servers": `unknown part "servers", want one of metrics, embedded, server, stages, report`,
		"-runs 0":                "at least 1",
		"-size 2501":             "from 1 to 2500",
		"-case request":          "-case needs -parts metrics",
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

const docs = "../../../docs"

func kept(t *testing.T) (map[string][]byte, report) {
	t.Helper()
	raw, r, err := readKept(docs, nil)
	if err != nil || len(r) != len(allParts) {
		t.Fatalf("%d parts, %v", len(r), err)
	}
	return raw, r
}

// TestPage fails if the page in docs does not follow from the kept figures.
func TestPage(t *testing.T) {
	t.Parallel()
	raw, r := kept(t)
	out := t.TempDir()
	if err := r.save(out, raw); err != nil {
		t.Fatal(err)
	}
	names := []string{"performance.md", "performance/ratios.svg", "performance/decision.svg"}
	for _, part := range allParts {
		names = append(names, "performance/"+part+".txt")
	}
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(docs, name))
		got, err2 := os.ReadFile(filepath.Join(out, name))
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if err := disagreement(string(want), string(got)); err != nil {
			t.Errorf("docs/%s is outdated: run go run ./bench/cmd/benchtable -parts none (%v)", name, err)
		}
	}
}

func TestPageOfOnePart(t *testing.T) {
	t.Parallel()
	_, all := kept(t)
	page, err := report{"report": all["report"]}.page()
	if err != nil || !strings.Contains(page, "## Decision logs") || strings.Contains(page, "## The package") || strings.Contains(page, "decision.svg") {
		t.Errorf("the page has parts that were not measured, or lacks one: %v\n%s", err, page)
	}
}

// With other figures, the tables have these rows.
func TestRows(t *testing.T) {
	t.Parallel()
	const metricsText = `
BenchmarkMetrics/case=request/goroutines=1/impl=opa-2 1000 1000 ns/op 952 B/op 11 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=regometer-2 1000 300 ns/op 208 B/op 1 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=floor-2 1000 150 ns/op 208 B/op 1 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=regometer-2 1000 600 ns/op 208 B/op 1 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=opa-2 1000 2000 ns/op 952 B/op 11 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=floor-2 1000 300 ns/op 208 B/op 1 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=opa-2 1000 2000 ns/op 952 B/op 11 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=regometer-2 1000 640 ns/op 208 B/op 1 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=floor-2 1000 300 ns/op 208 B/op 1 allocs/op
BenchmarkMetrics/case=timer_restart/goroutines=1/impl=opa-2 1000 200 ns/op 0 B/op 0 allocs/op
BenchmarkMetrics/case=timer_restart/goroutines=1/impl=regometer-2 1000 150 ns/op 8 B/op 1 allocs/op
BenchmarkMetrics/case=timer_restart/goroutines=1/impl=floor-2 1000 100 ns/op 0 B/op 0 allocs/op
BenchmarkMetrics/case=noop/goroutines=1/impl=opa-2 1000 10 ns/op 10 B/op 0 allocs/op
BenchmarkMetrics/case=noop/goroutines=1/impl=regometer-2 1000 12 ns/op 12 B/op 0 allocs/op
`
	const embeddedText = `
BenchmarkDecision/case=noop/impl=opa-2 10 1000 ns/op 500 B/op 90 allocs/op
BenchmarkDecision/case=noop/impl=regometer-2 10 1000 ns/op 500 B/op 90 allocs/op
BenchmarkDecision/case=marshal/impl=opa-2 10 2000 ns/op 900 B/op 120 allocs/op
BenchmarkDecision/case=marshal/impl=regometer-2 10 1600 ns/op 700 B/op 115 allocs/op
BenchmarkDecision/case=append/impl=regometer-2 10 900 ns/op 600 B/op 93 allocs/op
BenchmarkDecision/case=instrumented/impl=opa-2 10 8000 ns/op 9000 B/op 300 allocs/op
BenchmarkDecision/case=instrumented/impl=regometer-2 10 4000 ns/op 2700 B/op 190 allocs/op
`
	const stagesText = `
BenchmarkAdd/form=map/goroutines=1/impl=regometer-2 100 700 ns/op 0 B/op 0 allocs/op
BenchmarkObserveDecision/goroutines=2/impl=regometer-2 100 400 ns/op 16 B/op 1 allocs/op
BenchmarkSnapshot-2 100 70000 ns/op 0 B/op 0 allocs/op
`
	const reportText = `
BenchmarkReport/case=ndjson_512/impl=regometer_all 1 3000000 ns/op 600 MB/s 40000000 max-B
BenchmarkReport/case=ndjson_512/impl=duckdb_all 1 2500000 ns/op 800 MB/s 150000000 max-B
BenchmarkReport/case=gzip/impl=regometer_all 1 1310000 ns/op 100 MB/s 129000000 max-B
BenchmarkReport/case=gzip/impl=library 1 1000000 ns/op 131 MB/s 9000000 max-B
`
	r := report{}
	for part, text := range map[string]string{"metrics": metricsText, "embedded": embeddedText, "stages": stagesText, "report": reportText} {
		var err error
		if r[part], err = parse(part, []byte(strings.Repeat(text, 8))); err != nil {
			t.Fatal(err)
		}
	}
	text := r.text()
	for _, want := range []string{
		// The machine becomes twice as slow, but ratios are those of one run.
		"| A request: New, 4 timers, 1 counter; 1 goroutine | 2.00 µs, 952 B, 11 | 600 ns, 208 B, 1 | 0.30 (0.30–0.32) | 0.22 | 2.00 | time 0.38, bytes 0.25, 1 allocs | met |",
		"| **more** | 1.50 | time 0.48, floor 1.35, 0 allocs | **missed**: time, floor, allocs |",
		"| 10.0 ns, 10 B, 0 | 12.0 ns, 12 B, 0 | **1.20 (1.20–1.20) slower** | **1.20 more** | – |",
		"| time 0.55, bytes 0.22 | **missed**: bytes |",
		"| what metrics add: time, allocs; All and json.Marshal | 1.00 µs, 30 | 600 ns, 25 | 0.60 |  | time 0.65, 20 allocs | **missed**: allocs |",
		"| -100 ns, 3 | less than the noise |  | time 0.30, 4 allocs | **missed**: time (not measurable) |",
		"| 700 ns | 0 B | 0 | 600 ns, 0 allocations | **missed**: time |",
		"| … 2 goroutines | 400 ns | 16 B | 1 | 0 allocations | **missed**: allocations |",
		"| rollup: snapshot of a full one | 70.0 µs | 0 B | 0 | 0 allocations | met |",
		"| 600 MB/s | **0.75 (0.75–0.75) slower** |",
		"| gzip | 100 MB/s | 131 MB/s | **1.31 (1.31–1.31) slower** |",
		"| 8 KB a decision: throughput by DuckDB's | – | at least 8.00 | not measured |",
		"| gzip: time by that of decompression alone | 1.31 (1.31–1.31) | at most 1.30 | **missed** |",
		"| the most memory of any run | 129 MB | at most 128 MB | **missed** |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the tables lack %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
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

func TestBusyMachine(t *testing.T) {
	t.Parallel()
	_, r := kept(t)
	delete(r, "embedded")
	busy := steady["server"]
	r["server"].samples[busy][0][nanoseconds] *= 9
	page, err := r.page()
	if n := strings.Count(page, "the machine was busy"); err != nil || n != 1 || !strings.Contains(page, "While the server figures were taken,") {
		t.Errorf("%d warnings, %v, want one of the server:\n%s", n, err, page)
	}
}

func TestServerFiguresThatLackSome(t *testing.T) {
	t.Parallel()
	raw, _ := kept(t)
	text := string(raw["server"])
	lines := slices.Collect(strings.Lines(text))
	last := lines[len(lines)-1]
	for name, text := range map[string]string{
		"without a run":       strings.TrimSuffix(text, last),
		"with one more run":   text + last,
		"with another server": text + strings.Replace(last, "impl=", "impl=x", 1),
		"without a server":    strings.ReplaceAll(text, "impl=plugin_log", "impl=plugin_other"),
	} {
		if _, err := parse("server", []byte(text)); err == nil || !strings.Contains(err.Error(), "measure this part anew") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parse("server", []byte("BenchmarkServer/case=plain/impl=opa 1 x ns/op\n")); err == nil {
		t.Error("no error for a figure that is not a number")
	}
}

// Servers are judged by the median of the runs: one run of three is worse.
func TestServerTarget(t *testing.T) {
	t.Parallel()
	for want, values := range map[string]sample{
		"met":                            {allocated: 13900, allocations: 175},
		"**missed**: allocations":        {allocated: 14199, allocations: 181},
		"**missed**: bytes":              {allocated: 14200, allocations: 180.9},
		"**missed**: allocations, bytes": {allocated: 90000, allocations: 900},
	} {
		opa, worse := sample{allocated: 14200, allocations: 181}, sample{allocated: 99999, allocations: 999}
		r := results{samples: map[key][]sample{{"Server/case=plain", "unmodified"}: {opa, opa, opa}}}
		for _, s := range servers[1:] {
			r.samples[key{"Server/case=plain", s.impl}] = []sample{values, worse, values}
		}
		for _, s := range servers {
			if got := judgeServer(r, s, "Server/case=plain").cells()[1]; s.impl == "plugin" && got != want || s.impl != "plugin" && got != "" {
				t.Errorf("%s with %v has the verdict %q, want %q for the plugin alone", s.impl, values, got, want)
			}
		}
		table := serverTables(r)[0].String() // without processor time
		if !strings.Contains(table, "| unmodified OPA, nothing on | 181 | 14.2 KB | – | – |  |  |") {
			t.Errorf("figures that are not known are not dashes:\n%s", table)
		}
	}
}

// Servers are started with what their names and titles say.
func TestServers(t *testing.T) {
	t.Parallel()
	want := map[string][]any{
		"unmodified":         {true, false, "", false},
		"unmodified_again":   {true, false, "", false},
		"dropin":             {false, false, "", false},
		"plugin":             {false, true, "", false},
		"plugin_log":         {false, true, "regometer", false},
		"unmodified_console": {true, false, "", true},
		"dropin_console":     {false, false, "", true},
	}
	for _, s := range servers {
		var config struct {
			Plugins      map[string]struct{}
			DecisionLogs struct {
				Console bool
				Plugin  string
			} `json:"decision_logs"`
		}
		if s.config != "" {
			if err := json.Unmarshal([]byte(s.config), &config); err != nil {
				t.Fatal(err)
			}
		}
		_, plugin := config.Plugins["regometer"]
		if got := []any{s.unmodified, plugin, config.DecisionLogs.Plugin, config.DecisionLogs.Console}; !slices.Equal(got, want[s.impl]) || s.observed != plugin {
			t.Errorf("%s is %v, want %v; observed: %v", s.impl, got, want[s.impl], s.observed)
		}
		delete(want, s.impl)
	}
	if len(want) > 0 {
		t.Errorf("not measured: %v", slices.Collect(maps.Keys(want)))
	}
}

func TestDisagreement(t *testing.T) {
	t.Parallel()
	if err := disagreement("a\nb\n", "a\nb\n"); err != nil {
		t.Error(err)
	}
	for _, other := range []string{"a\nc\n", "a\n", "", "a\nb\nc\n"} {
		if disagreement("a\nb\n", other) == nil {
			t.Errorf("no error for %q", other)
		}
	}
}

// Plots are XML, and all labels lie within them.
func TestPlots(t *testing.T) {
	t.Parallel()
	_, r := kept(t)
	for name, plot := range r.plots() {
		for d := xml.NewDecoder(strings.NewReader(string(plot))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if bad := regexp.MustCompile(`NaN|Inf|width="-`).Find(plot); bad != nil {
			t.Errorf("%s contains %s", name, bad)
		}
		labels := regexp.MustCompile(`<text x="([\d.]+)" [^>]*text-anchor="end"[^>]*>(.*)</text>`).FindAllSubmatch(plot, -1)
		if len(labels) == 0 {
			t.Errorf("%s has no labels", name)
		}
		for _, label := range labels {
			right, err := strconv.ParseFloat(string(label[1]), 64)
			if err != nil {
				t.Fatal(err)
			}
			const wide = 6.4 // pixels a letter takes in DejaVu Sans
			if title := html.UnescapeString(string(label[2])); right < wide*float64(utf8.RuneCountInString(title)) {
				t.Errorf("%q begins left of the picture: it ends at %.0f", title, right)
			}
		}
	}
}
