// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		want string // in the error
	}{
		{"-parts metrics,servers", `no part "servers", there are metrics, embedded, server, stages`},
		{"-runs 0", "at least 1"},
		{"-case request", "-case needs -parts metrics"},
		{"metrics", `unexpected argument "metrics"`},
		{"-nonsense", "flag provided but not defined"},
	} {
		if _, err := parse(strings.Fields(test.args), io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v, want one with %q", test.args, err, test.want)
		}
	}
	o, err := parse([]string{"-quick", "-runs", "9"}, io.Discard)
	if err != nil || o.runs != 1 || o.benchtime != "1x" || len(o.parts) != 4 {
		t.Errorf("-quick gives %+v, %v", o, err)
	}
	if o, err = parse([]string{"-parts", "none"}, io.Discard); err != nil || len(o.parts) != 0 {
		t.Errorf("-parts none gives %+v, %v", o, err)
	}
}

// Three runs on a machine that becomes twice as slow: the ratio of each run is
// the same, or nearly, and that is what is reported.
const metricsText = `date: 2026-01-02
goos: linux
goarch: amd64
cpu: Some Processor
cpus: 2
go: go1.26.0
opa: v1.22.0
command: go run ./cmd/benchtable
BenchmarkMetrics/case=request/goroutines=1/impl=opa-2         	 1000	 1000 ns/op	 952 B/op	 11 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=regometer-2   	 1000	  300 ns/op	 208 B/op	  1 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=floor-2       	 1000	  150 ns/op	 208 B/op	  1 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=regometer-2   	 1000	  600 ns/op	 208 B/op	  1 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=opa-2         	 1000	 2000 ns/op	 952 B/op	 11 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=floor-2       	 1000	  300 ns/op	 208 B/op	  1 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=opa-2         	 1000	 2000 ns/op	 952 B/op	 11 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=regometer-2   	 1000	  640 ns/op	 208 B/op	  1 allocs/op
BenchmarkMetrics/case=request/goroutines=1/impl=floor-2       	 1000	  300 ns/op	 208 B/op	  1 allocs/op
BenchmarkMetrics/case=timer_restart/goroutines=1/impl=opa-2         	 1000	 200 ns/op	 0 B/op	 0 allocs/op
BenchmarkMetrics/case=timer_restart/goroutines=1/impl=regometer-2   	 1000	 150 ns/op	 8 B/op	 1 allocs/op
BenchmarkMetrics/case=timer_restart/goroutines=1/impl=floor-2       	 1000	 100 ns/op	 0 B/op	 0 allocs/op
BenchmarkMetrics/case=noop/goroutines=1/impl=opa-2         	 1000	 10 ns/op	 0 B/op	 0 allocs/op
BenchmarkMetrics/case=noop/goroutines=1/impl=regometer-2   	 1000	 12 ns/op	 0 B/op	 0 allocs/op
PASS
`

const embeddedText = `BenchmarkDecision/case=noop/impl=opa-2       10 1000 ns/op 500 B/op 90 allocs/op
BenchmarkDecision/case=marshal/impl=opa-2            10 2000 ns/op 900 B/op 120 allocs/op
BenchmarkDecision/case=append/impl=opa-2             10 2000 ns/op 900 B/op 120 allocs/op
BenchmarkDecision/case=instrumented/impl=opa-2       10 8000 ns/op 9000 B/op 300 allocs/op
BenchmarkDecision/case=noop/impl=regometer-2         10 1000 ns/op 500 B/op 90 allocs/op
BenchmarkDecision/case=marshal/impl=regometer-2      10 1600 ns/op 700 B/op 105 allocs/op
BenchmarkDecision/case=append/impl=regometer-2       10 1400 ns/op 600 B/op 93 allocs/op
BenchmarkDecision/case=instrumented/impl=regometer-2 10 4000 ns/op 2700 B/op 190 allocs/op
`

const serverText = `BenchmarkServer/case=plain/impl=opa 100 50000 ns/op 40000 cpu-ns/op 20000 B/op 300.0 allocs/op
BenchmarkServer/case=plain/impl=regometer 100 40000 ns/op 30000 cpu-ns/op 10000 B/op 200.0 allocs/op
BenchmarkServer/case=instrumented/impl=opa 100 90000 ns/op 80000 cpu-ns/op 90000 B/op 900.0 allocs/op
BenchmarkServer/case=instrumented/impl=regometer 100 60000 ns/op 60000 cpu-ns/op 30000 B/op 500.0 allocs/op
`

const stagesText = `BenchmarkRecord/sigma=1/goroutines=1/impl=regometer-2 100 10 ns/op 0 B/op 0 allocs/op
BenchmarkRecord/sigma=1/goroutines=1/impl=prometheus-2 100 80 ns/op 0 B/op 0 allocs/op
BenchmarkMemory/sigma=1/impl=regometer-2 100 0 ns/op 900 B/histogram
BenchmarkAdd/form=map/goroutines=1/impl=regometer-2 100 700 ns/op 0 B/op 0 allocs/op
BenchmarkSnapshot-2 100 70000 ns/op 0 B/op 0 allocs/op
BenchmarkServer/impl=none-2 100 30000 ns/op 20000 B/op 300 allocs/op
`

func testReport(t *testing.T) report {
	t.Helper()
	r := report{parts: map[string]results{}}
	for part, text := range map[string]string{"metrics": metricsText, "embedded": embeddedText, "server": serverText, "stages": stagesText} {
		var err error
		if r.parts[part], err = parseResults(part, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestRatiosAreThoseOfOneRun(t *testing.T) {
	t.Parallel()
	m := testReport(t).parts["metrics"]
	const name = "case=request/goroutines=1"
	if got, want := m.ratio(name, "opa", nanoseconds), (spread{0.3, 0.3, 0.32}); got != want {
		t.Errorf("ratio is %v, want %v", got, want)
	}
	if got := m.median(name, "opa", nanoseconds); got != 2000 {
		t.Errorf("median is %v", got)
	}
	if got := m.config["cpu"]; got != "Some Processor" {
		t.Errorf("cpu is %q", got)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}} {
		if got := median(test.values); got != test.want {
			t.Errorf("median of %v is %v, want %v", test.values, got, test.want)
		}
	}
}

func TestUnreadableFigures(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"BenchmarkMetrics/case=request-2 1 2 ns/op", "BenchmarkMetrics/case=request/impl=opa-2 1 x ns/op"} {
		if _, err := parseResults("metrics", []byte(text)); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	page := testReport(t).page()
	for _, want := range []string{
		"| metrics | 2026-01-02 | Some Processor, 2 CPUs | linux/amd64 | go1.26.0 | v1.22.0 | `go run ./cmd/benchtable` |",
		"| A request: New, 4 timers, 1 counter; 1 goroutine | 2.00 µs, 952 B, 11 | 600 ns, 208 B, 1 | 0.30 (0.30–0.32) | 0.22 | 2.00 | time 0.38, bytes 0.25, 1 allocs | met |",
		"| time 0.48, floor 1.35, 0 allocs | **missed**: time, floor, allocs |",
		"**1.20 (1.20–1.20) slower**",
		"| what metrics add: time, allocs; All and json.Marshal | 1.00 µs, 30 | 600 ns, 15 | 0.60 |  | time 0.65, 20 allocs | met |",
		"| what metrics add: time, allocs; AppendJSON | 1.00 µs, 30 | 400 ns, 3 | 0.40 |  | time 0.30, 4 allocs | **missed**: time |",
		"| time 0.55, bytes 0.22 | **missed**: bytes |",
		"| `POST /v1/data/rbac/allow` | allocated | 20.0 KB | 10.0 KB | 0.50 (0.50–0.50) |",
		"| `POST /v1/data/rbac/allow?instrument=true` | time until the next answer | 90.0 µs | 60.0 µs | 0.67 (0.67–0.67) |",
		"| record, 1 goroutine | 10.0 ns | 80.0 ns | – | – | – |",
		"| memory after 10,000 values, σ = 1 | 900 B | – | – | – | – |",
		"| rollup: fold in a decision of 8 metrics, OPA's map; 1 goroutine | 700 ns | 0 B | 0 | 600 ns, 0 allocations | **missed**: time |",
		"| rollup: snapshot of a full one | 70.0 µs | 0 B | 0 | 0 allocations | met |",
		"| OPA's server: POST /v1/data, no decision logging | 30.0 µs | 20.0 KB | 300 |  |  |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

func TestPageOfABusyMachine(t *testing.T) {
	t.Parallel()
	const warning = "While the embedded figures were taken, the machine was busy"
	r := testReport(t)
	if page := r.page(); strings.Contains(page, "the machine was busy") {
		t.Error("the page warns though nothing varied")
	}
	var err error
	r.parts["embedded"], err = parseResults("embedded", []byte(embeddedText+
		"BenchmarkDecision/case=noop/impl=opa-2 10 9000 ns/op 500 B/op 90 allocs/op\n"+
		"BenchmarkDecision/case=noop/impl=opa-2 10 9000 ns/op 500 B/op 90 allocs/op\n"))
	if err != nil {
		t.Fatal(err)
	}
	page := r.page()
	for _, want := range []string{warning, "took up to 9.00 times as long", "| less than the noise |  | time 0.65, 20 allocs | **missed**: time (not measurable) |"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

func TestPageOfOnePart(t *testing.T) {
	t.Parallel()
	r := testReport(t)
	delete(r.parts, "embedded")
	delete(r.parts, "metrics")
	page := r.page()
	if strings.Contains(page, "## The package") || strings.Contains(page, "decision.svg") {
		t.Errorf("the page shows parts that were not measured:\n%s", page)
	}
}

func TestSave(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	raw := map[string][]byte{"metrics": []byte(metricsText)}
	if err := testReport(t).save(out, raw); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"performance.md":           "# Performance",
		"performance/metrics.txt":  metricsText,
		"performance/ratios.svg":   "<svg ",
		"performance/decision.svg": "<svg ",
	} {
		got, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("%s: %v, %.40q", name, err, got)
		}
	}
	for _, folder := range []string{out, filepath.Join(out, "performance")} {
		left, err := filepath.Glob(filepath.Join(folder, ".new-*"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

func TestPlotsAreXML(t *testing.T) {
	t.Parallel()
	r := testReport(t)
	for name, plot := range map[string][]byte{"ratios": r.ratioPlot(), "decision": r.decisionPlot()} {
		d := xml.NewDecoder(strings.NewReader(string(plot)))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, bad := range []string{"NaN", "Inf", `width="-`} {
			if strings.Contains(string(plot), bad) {
				t.Errorf("%s contains %s", name, bad)
			}
		}
	}
}

func TestProcessorTime(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only known on Linux")
	}
	before := processorTime(os.Getpid())
	for start := time.Now(); time.Since(start) < 10*time.Second; {
		if took := processorTime(os.Getpid()) - before; took > 0 {
			return
		}
	}
	t.Error("ten seconds of work took no time")
}

// A server that says in /metrics that a request takes 1,000 bytes and 10
// allocations.
func TestLoad(t *testing.T) {
	t.Parallel()
	var decisions atomic.Int64
	answer := `{"result": true}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.String() {
		case "/metrics":
			n := decisions.Load()
			fmt.Fprintf(w, "# HELP x\ngo_memstats_alloc_bytes_total %g\ngo_memstats_mallocs_total %d\nother 1\n",
				1e9+1e3*float64(n), 10*n)
		case "/v1/data/rbac/allow?instrument=true":
			decisions.Add(1)
			fmt.Fprint(w, answer)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s := opaServer{impl: "opa", url: server.URL}
	f, err := s.load(context.Background(), "?instrument=true", 25)
	if err != nil {
		t.Fatal(err)
	}
	if got := decisions.Load(); got != 25 {
		t.Errorf("%d requests were sent", got)
	}
	if f.bytes != 1000 || f.allocs != 10 || f.time <= 0 {
		t.Errorf("figures are %+v", f)
	}
	if _, err := s.load(context.Background(), "?other", 1); err == nil {
		t.Error("no error for a status of 404")
	}
	answer = `{"result": false}`
	if _, err := s.load(context.Background(), "?instrument=true", 1); err == nil {
		t.Error("no error for the wrong decision")
	}
}
