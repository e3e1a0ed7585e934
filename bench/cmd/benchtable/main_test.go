// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/regometer/regometer/bench"
	"github.com/regometer/regometer/bench/internal/measure"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		want string // in the error
	}{
		{"-parts metrics,servers", `no part "servers", there are metrics, embedded, server, stages, report`},
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
opa: v1.2.3
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

// In the plain case the plugin meets its target; in the instrumented one it has
// as many allocations as OPA, which is not below.
const serverText = `BenchmarkServer/case=plain/impl=unmodified 100 120000 ns/op 104000 cpu-ns/op 14200 B/op 181.0 allocs/op
BenchmarkServer/case=plain/impl=unmodified_again 100 126000 ns/op 106000 cpu-ns/op 14200 B/op 181.0 allocs/op
BenchmarkServer/case=plain/impl=dropin 100 108000 ns/op 92000 cpu-ns/op 13500 B/op 173.0 allocs/op
BenchmarkServer/case=plain/impl=plugin 100 114000 ns/op 96000 cpu-ns/op 13900 B/op 175.0 allocs/op
BenchmarkServer/case=plain/impl=plugin_log 100 150000 ns/op 144000 cpu-ns/op 20600 B/op 291.0 allocs/op
BenchmarkServer/case=plain/impl=unmodified_console 100 180000 ns/op 160000 cpu-ns/op 27700 B/op 403.0 allocs/op
BenchmarkServer/case=plain/impl=dropin_console 100 170000 ns/op 150000 cpu-ns/op 26000 B/op 380.0 allocs/op
BenchmarkServer/case=instrumented/impl=unmodified 100 300000 ns/op 250000 cpu-ns/op 84000 B/op 440.0 allocs/op
BenchmarkServer/case=instrumented/impl=unmodified_again 100 303000 ns/op 255000 cpu-ns/op 84000 B/op 440.0 allocs/op
BenchmarkServer/case=instrumented/impl=dropin 100 200000 ns/op 190000 cpu-ns/op 28000 B/op 366.0 allocs/op
BenchmarkServer/case=instrumented/impl=plugin 100 210000 ns/op 195000 cpu-ns/op 28500 B/op 440.0 allocs/op
BenchmarkServer/case=instrumented/impl=plugin_log 100 270000 ns/op 260000 cpu-ns/op 46000 B/op 634.0 allocs/op
BenchmarkServer/case=instrumented/impl=unmodified_console 100 500000 ns/op 400000 cpu-ns/op 113000 B/op 970.0 allocs/op
BenchmarkServer/case=instrumented/impl=dropin_console 100 350000 ns/op 330000 cpu-ns/op 55700 B/op 829.0 allocs/op
`

const stagesText = `BenchmarkRecord/sigma=1/goroutines=1/impl=regometer-2 100 10 ns/op 0 B/op 0 allocs/op
BenchmarkRecord/sigma=1/goroutines=1/impl=prometheus-2 100 80 ns/op 0 B/op 0 allocs/op
BenchmarkMemory/sigma=1/impl=regometer-2 100 0 ns/op 900 B/histogram
BenchmarkAdd/form=map/goroutines=1/impl=regometer-2 100 700 ns/op 0 B/op 0 allocs/op
BenchmarkObserveDecision/goroutines=1/impl=regometer-2 100 550 ns/op 0 B/op 0 allocs/op
BenchmarkObserveDecision/goroutines=1/impl=floor-2 100 450 ns/op 0 B/op 0 allocs/op
BenchmarkObserveDecision/goroutines=2/impl=regometer-2 100 400 ns/op 16 B/op 1 allocs/op
BenchmarkLog/goroutines=1/impl=regometer-2 100 1200 ns/op 0 B/op 0 allocs/op
BenchmarkLog/goroutines=2/impl=regometer-2 100 660 ns/op 0 B/op 0 allocs/op
BenchmarkSnapshot-2 100 70000 ns/op 0 B/op 0 allocs/op
BenchmarkServer/impl=none-2 100 30000 ns/op 20000 B/op 300 allocs/op
BenchmarkServer/impl=regometer-2 100 50000 ns/op 30000 B/op 500 allocs/op
`

// The machine becomes twice as slow between two runs. There is no jq.
const reportText = `duckdb: v9.8.7
jq: none
sql: SET threads = THREADS; SELECT x FROM 'FILE'
jqfilter: .path
compress: example.com/compress v1.2.3
BenchmarkReport/case=ndjson_512/impl=regometer_all 1 1000000 ns/op 2000 MB/s 40000000 max-B
BenchmarkReport/case=ndjson_512_quarter/impl=regometer_all 1 250000 ns/op 2000 MB/s 39000000 max-B
BenchmarkReport/case=ndjson_512/impl=regometer_one 1 1600000 ns/op 1250 MB/s 38000000 max-B
BenchmarkReport/case=ndjson_512/impl=regometer_portable 1 3200000 ns/op 600 MB/s 40000000 max-B
BenchmarkReport/case=ndjson_512/impl=encoding_json 1 20000000 ns/op 100 MB/s 8000000 max-B
BenchmarkReport/case=ndjson_512/impl=duckdb_one 1 4000000 ns/op 500 MB/s 90000000 max-B
BenchmarkReport/case=ndjson_512/impl=duckdb_all 1 2500000 ns/op 800 MB/s 150000000 max-B
BenchmarkReport/case=docker/impl=regometer_all 1 2500000 ns/op 1200 MB/s 41000000 max-B
BenchmarkReport/case=docker/impl=duckdb_all 1 2000000 ns/op 1000 MB/s 140000000 max-B
BenchmarkReport/case=gzip/impl=regometer_all 1 1300000 ns/op 100 MB/s 42000000 max-B
BenchmarkReport/case=gzip/impl=library 1 1000000 ns/op 130 MB/s 9000000 max-B
BenchmarkReport/case=zstd/impl=regometer_all 1 1310000 ns/op 100 MB/s 129000000 max-B
BenchmarkReport/case=zstd/impl=library 1 1000000 ns/op 131 MB/s 9000000 max-B
BenchmarkReport/case=ndjson_512/impl=regometer_all 1 2000000 ns/op 1000 MB/s 40000000 max-B
BenchmarkReport/case=ndjson_512/impl=regometer_one 1 3200000 ns/op 625 MB/s 38000000 max-B
BenchmarkReport/case=ndjson_512/impl=duckdb_all 1 5000000 ns/op 320 MB/s 150000000 max-B
`

func testReport(t *testing.T) report {
	t.Helper()
	r := report{parts: map[string]measure.Results{}}
	for part, text := range map[string]string{"metrics": metricsText, "embedded": embeddedText, "server": serverText, "stages": stagesText, "report": reportText} {
		var err error
		if r.parts[part], err = parseResults(part, []byte(strings.Repeat(text, 8))); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestRatiosAreThoseOfOneRun(t *testing.T) {
	t.Parallel()
	m := testReport(t).parts["metrics"]
	const name = "case=request/goroutines=1"
	if got, want := m.Ratio(name, "regometer", "opa", measure.Nanoseconds), (measure.Spread{Median: 0.3, Low: 0.3, High: 0.32}); got != want {
		t.Errorf("ratio is %v, want %v", got, want)
	}
	if got := m.Median(name, "opa", measure.Nanoseconds); got != 2000 {
		t.Errorf("median is %v", got)
	}
	if got := m.Config["cpu"]; got != "Some Processor" {
		t.Errorf("cpu is %q", got)
	}
}

// A row is slower if its runs leave no doubt of it: neither a median above 1
// nor all of a few runs do.
func TestSlower(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		ratios []float64
		want   string
	}{
		{"always slower", []float64{1.1, 1.2, 1.2, 1.3, 1.1, 1.2, 1.3, 1.2, 1.1, 1.2}, "**1.20 (1.10–1.30) slower**"},
		{"one run of ten is faster", []float64{1.1, 1.2, 1.2, 1.3, 1.1, 1.2, 0.8, 1.2, 1.1, 1.2}, "1.20 (0.80–1.30)"},
		{"one run of twenty", []float64{1.1, 1.2, 1.2, 1.3, 1.1, 1.2, 0.8, 1.2, 1.1, 1.2, 1.1, 1.2, 1.2, 1.3, 1.1, 1.2, 1.2, 1.2, 1.1, 1.2}, "**1.20 (1.10–1.20) slower**"},
		{"seven runs", []float64{1.1, 1.2, 1.2, 1.3, 1.2, 1.2, 1.2}, "1.20"},
		{"always faster", []float64{0.5, 0.5, 0.6, 0.5, 0.5, 0.5, 0.5, 0.5}, "0.50 (0.50–0.60)"},
	} {
		l := line{time: measure.SpreadOf(len(test.ratios), func(run int) float64 { return test.ratios[run] })}
		if got := l.timeText(); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
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
		"| metrics | 2026-01-02 | Some Processor, 2 CPUs | linux/amd64 | go1.26.0 | v1.2.3 | `go run ./cmd/benchtable` |",
		"| A request: New, 4 timers, 1 counter; 1 goroutine | 2.00 µs, 952 B, 11 | 600 ns, 208 B, 1 | 0.30 (0.30–0.32) | 0.22 | 2.00 | time 0.38, bytes 0.25, 1 allocs | met |",
		"| time 0.48, floor 1.35, 0 allocs | **missed**: time, floor, allocs |",
		"**1.20 (1.20–1.20) slower**",
		"| what metrics add: time, allocs; All and json.Marshal | 1.00 µs, 30 | 600 ns, 15 | 0.60 |  | time 0.65, 20 allocs | met |",
		"| what metrics add: time, allocs; AppendJSON | 1.00 µs, 30 | 400 ns, 3 | 0.40 |  | time 0.30, 4 allocs | **missed**: time |",
		"| time 0.55, bytes 0.22 | **missed**: bytes |",
		"| record, 1 goroutine | 10.0 ns | 80.0 ns | – | – | – |",
		"| memory after 10,000 values, σ = 1 | 900 B | – | – | – | – |",
		"| rollup: fold in a decision of 8 metrics, OPA's map; 1 goroutine | 700 ns | 0 B | 0 | 600 ns, 0 allocations | **missed**: time |",
		"| plugin: a decision straight from the server; 1 goroutine | 550 ns | 0 B | 0 | 600 ns, 0 allocations | met |\n" +
			"| … 2 goroutines | 400 ns | 16 B | 1 | 0 allocations | **missed**: allocations |\n" +
			"| … floor: its numbers in the rollup alone | 450 ns | 0 B | 0 |  |  |\n" +
			"| plugin: Log, an event of the decision log; 1 goroutine | 1.20 µs | 0 B | 0 | 1.00 µs, 0 allocations | **missed**: time |\n" +
			"| … 2 goroutines | 660 ns | 0 B | 0 | 0 allocations | met |\n",
		"| rollup: snapshot of a full one | 70.0 µs | 0 B | 0 | 0 allocations | met |",
		"| OPA's server: POST /v1/data, no decision logging | 30.0 µs | 20.0 KB | 300 |  |  |",
		"| … with the plugin as decision logger | 50.0 µs | 30.0 KB | 500 |  |  |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

// The whole of the servers' tables: a row in another's place, with another's
// figures, or with the wrong verdict is a difference.
func TestServerTables(t *testing.T) {
	t.Parallel()
	const want = `
### The server under load: 'POST /v1/data/rbac/allow'

| | allocations | bytes | processor time | time until the next answer | target | |
|---|---|---|---|---|---|---|
| unmodified OPA, nothing on | 181 | 14.2 KB | 104 µs | 120 µs |  |  |
| … a second server of the same binary | 181; 1.00 (1.00–1.00) | 14.2 KB; 1.00 (1.00–1.00) | 106 µs; 1.02 (1.02–1.02) | 126 µs; 1.05 (1.05–1.05) |  |  |
| with the drop-in, nothing on | 173; 0.96 (0.96–0.96) | 13.5 KB; 0.95 (0.95–0.95) | 92.0 µs; 0.88 (0.88–0.88) | 108 µs; 0.90 (0.90–0.90) |  |  |
| with the drop-in and the plugin | 175; 0.97 (0.97–0.97) | 13.9 KB; 0.98 (0.98–0.98) | 96.0 µs; 0.92 (0.92–0.92) | 114 µs; 0.95 (0.95–0.95) | allocations and bytes below unmodified OPA's, nothing on | met |
| … by the drop-in alone | **1.01 (1.01–1.01) more** | **1.03 (1.03–1.03) more** | **1.04 (1.04–1.04) more** | **1.06 (1.06–1.06) more** |  |  |
| with the drop-in and the plugin, also as decision logger | 291; **1.61 (1.61–1.61) more** | 20.6 KB; **1.45 (1.45–1.45) more** | 144 µs; **1.38 (1.38–1.38) more** | 150 µs; **1.25 (1.25–1.25) more** |  |  |
| unmodified OPA, decision log on the console | 403; 2.23 (2.23–2.23) | 27.7 KB; 1.95 (1.95–1.95) | 160 µs; 1.54 (1.54–1.54) | 180 µs; 1.50 (1.50–1.50) |  |  |
| with the drop-in, decision log on the console | 380; 2.10 (2.10–2.10) | 26.0 KB; 1.83 (1.83–1.83) | 150 µs; 1.44 (1.44–1.44) | 170 µs; 1.42 (1.42–1.42) |  |  |
| … by unmodified OPA with that log | 0.94 (0.94–0.94) | 0.94 (0.94–0.94) | 0.94 (0.94–0.94) | 0.94 (0.94–0.94) |  |  |

### The server under load: 'POST /v1/data/rbac/allow?instrument=true'

| | allocations | bytes | processor time | time until the next answer | target | |
|---|---|---|---|---|---|---|
| unmodified OPA, nothing on | 440 | 84.0 KB | 250 µs | 300 µs |  |  |
| … a second server of the same binary | 440; 1.00 (1.00–1.00) | 84.0 KB; 1.00 (1.00–1.00) | 255 µs; 1.02 (1.02–1.02) | 303 µs; 1.01 (1.01–1.01) |  |  |
| with the drop-in, nothing on | 366; 0.83 (0.83–0.83) | 28.0 KB; 0.33 (0.33–0.33) | 190 µs; 0.76 (0.76–0.76) | 200 µs; 0.67 (0.67–0.67) |  |  |
| with the drop-in and the plugin | 440; 1.00 (1.00–1.00) | 28.5 KB; 0.34 (0.34–0.34) | 195 µs; 0.78 (0.78–0.78) | 210 µs; 0.70 (0.70–0.70) | allocations and bytes below unmodified OPA's, nothing on | **missed**: allocations |
| … by the drop-in alone | **1.20 (1.20–1.20) more** | **1.02 (1.02–1.02) more** | **1.03 (1.03–1.03) more** | **1.05 (1.05–1.05) more** |  |  |
| with the drop-in and the plugin, also as decision logger | 634; **1.44 (1.44–1.44) more** | 46.0 KB; 0.55 (0.55–0.55) | 260 µs; **1.04 (1.04–1.04) more** | 270 µs; 0.90 (0.90–0.90) |  |  |
| unmodified OPA, decision log on the console | 970; 2.20 (2.20–2.20) | 113 KB; 1.35 (1.35–1.35) | 400 µs; 1.60 (1.60–1.60) | 500 µs; 1.67 (1.67–1.67) |  |  |
| with the drop-in, decision log on the console | 829; 1.88 (1.88–1.88) | 55.7 KB; 0.66 (0.66–0.66) | 330 µs; 1.32 (1.32–1.32) | 350 µs; 1.17 (1.17–1.17) |  |  |
| … by unmodified OPA with that log | 0.85 (0.85–0.85) | 0.49 (0.49–0.49) | 0.82 (0.82–0.82) | 0.70 (0.70–0.70) |  |  |
`
	var b strings.Builder
	r := testReport(t)
	r.writeServer(&b)
	if got := strings.ReplaceAll(b.String(), "`", "'"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	page := r.page()
	if !strings.Contains(page, b.String()) || !strings.Contains(page, "requests by 2 clients") {
		t.Errorf("the page lacks the tables or what they show:\n%s", page)
	}
}

// Rows are judged by the median of what was measured in turns: here one run of
// three is above OPA's.
func TestServerTarget(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ bytes, allocs, want string }{
		{"13900 B/op", "175 allocs/op", "met"},
		{"14199 B/op", "181 allocs/op", "**missed**: allocations"},
		{"14200 B/op", "180.9 allocs/op", "**missed**: bytes"},
		{"90000 B/op", "900 allocs/op", "**missed**: allocations, bytes"},
	} {
		changed := strings.Replace(serverText, "13900 B/op 175.0 allocs/op", test.bytes+" "+test.allocs, 1)
		worse := strings.Replace(serverText, "13900 B/op 175.0 allocs/op", "99999 B/op 999 allocs/op", 1)
		s, err := parseResults("server", []byte(changed+worse+changed))
		if err != nil {
			t.Fatal(err)
		}
		for _, setup := range serverSetups {
			target, verdict := setup.judge(s, "case=plain")
			if setup.impl == "plugin" && (verdict != test.want || target == "") || setup.impl != "plugin" && verdict != "" {
				t.Errorf("%s, %s: %s has the verdict %q", test.bytes, test.allocs, setup.impl, verdict)
			}
		}
	}
}

// What is not known on a system is no figure, and no loss.
func TestServerWithoutProcessorTime(t *testing.T) {
	t.Parallel()
	var err error
	r := testReport(t)
	r.parts["server"], err = parseResults("server", regexp.MustCompile(`\d+ cpu-ns/op`).ReplaceAll([]byte(strings.Repeat(serverText, 8)), []byte("0 cpu-ns/op")))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	r.writeServer(&b)
	for _, want := range []string{
		"| unmodified OPA, nothing on | 181 | 14.2 KB | – | 120 µs |  |  |",
		"| … by the drop-in alone | **1.01 (1.01–1.01) more** | **1.03 (1.03–1.03) more** | – | **1.06 (1.06–1.06) more** |  |  |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, b.String())
		}
	}
}

func TestServerFiguresThatLackSome(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(serverText) {
		for name, text := range map[string]string{
			"without":          strings.Replace(serverText, line, "", 1),
			"one more run of":  serverText + line,
			"another name for": strings.Replace(serverText, line, strings.Replace(line, "impl=", "impl=x", 1), 1),
			"no impl for":      strings.Replace(serverText, line, strings.Replace(line, "/impl=", "/", 1), 1),
		} {
			_, err := parseResults("server", []byte(text))
			if err == nil {
				t.Errorf("no error %s %s", name, line)
			} else if name == "without" && !strings.Contains(err.Error(), "no figures of case=") {
				t.Errorf("%s %s: %v", name, line, err)
			}
		}
	}
	if _, err := parseResults("server", []byte(serverText+serverText)); err != nil {
		t.Errorf("two runs: %v", err)
	}
	if _, err := parseResults("server", []byte(serverText+"BenchmarkServer/case=plain/impl=opa 1 1 ns/op\n")); err == nil {
		t.Error("no error for a server that is not measured")
	}
}

// Servers are started with what their names and titles say.
func TestServerSetups(t *testing.T) {
	t.Parallel()
	for _, s := range serverSetups {
		var config struct {
			Plugins      map[string]struct{}
			DecisionLogs struct {
				Console bool
				Plugin  string
			} `json:"decision_logs"`
		}
		if s.config != "" {
			if err := json.Unmarshal([]byte(s.config), &config); err != nil {
				t.Fatalf("%s: %v", s.impl, err)
			}
		}
		_, plugin := config.Plugins["regometer"]
		got := []any{s.unmodified, plugin, config.DecisionLogs.Plugin, config.DecisionLogs.Console}
		want := map[string][]any{
			"unmodified":         {true, false, "", false},
			"unmodified_again":   {true, false, "", false},
			"dropin":             {false, false, "", false},
			"plugin":             {false, true, "", false},
			"plugin_log":         {false, true, "regometer", false},
			"unmodified_console": {true, false, "", true},
			"dropin_console":     {false, false, "", true},
		}[s.impl]
		if !slices.Equal(got, want) || s.observed != plugin {
			t.Errorf("%s is %v, want %v; observed: %v", s.impl, got, want, s.observed)
		}
	}
	if len(serverSetups) != 7 {
		t.Errorf("%d servers", len(serverSetups))
	}
}

func TestDecisionLogTables(t *testing.T) {
	t.Parallel()
	const want = `
### Throughput

| a log of | DuckDB, 1 thread | DuckDB | jq, two fields | encoding/json | regometer, portable | regometer, 1 worker | regometer | by DuckDB's |
|---|---|---|---|---|---|---|---|---|
| 0.5 KB a decision | 500 MB/s | 560 MB/s | – | 100 MB/s | 600 MB/s | 938 MB/s | 1.50 GB/s | 2.81 (2.50–3.12) |
| 8 KB a decision | – | – | – | – | – | – | – | – |
| 0.5 KB a decision, spaced by json.dumps | – | – | – | – | – | – | – | – |
| 0.5 KB a decision, indented by json.Indent | – | – | – | – | – | – | – | – |
| 0.5 KB a decision, in docker's json-file; DuckDB without that | – | 1.00 GB/s | – | – | – | – | 1.20 GB/s | 1.20 (1.20–1.20) |

### Compressed logs

| 0.5 KB a decision | regometer | decompression alone | time |
|---|---|---|---|
| gzip | 100 MB/s | 130 MB/s | **1.30 (1.30–1.30) slower** |
| zstd | 100 MB/s | 131 MB/s | **1.31 (1.31–1.31) slower** |

### The most memory resident

| a log of | regometer | … of a quarter of the size | DuckDB | encoding/json |
|---|---|---|---|---|
| 0.5 KB a decision | 40 MB | 39 MB | 150 MB | 8 MB |
| 8 KB a decision | – | – | – | – |
| spaced by json.dumps | – | – | – | – |
| indented by json.Indent | – | – | – | – |
| docker's json-file | 41 MB | – | 140 MB | – |
| gzip | 42 MB | – | – | – |
| zstd | 129 MB | – | – | – |

### Targets of 'regometer report'

| | | target | |
|---|---|---|---|
| 0.5 KB a decision: throughput by DuckDB's | 2.81 (2.50–3.12) | at least 3.00 | **missed** |
| 8 KB a decision: throughput by DuckDB's | – | at least 8.00 | not measured |
| 0.5 KB a decision: throughput by that of 1 worker | 1.60 (1.60–1.60) | at least 1.70 | **missed** |
| 8 KB a decision: throughput by that of 1 worker | – | at least 1.70 | not measured |
| docker's json-file: DuckDB's time on the unwrapped log by ours | 0.80 (0.80–0.80) | at least 1.00 | **missed** |
| … throughput by DuckDB's, each by the bytes of its own file | 1.20 (1.20–1.20) | at least 1.00 | met |
| gzip: time by that of decompression alone | 1.30 (1.30–1.30) | at most 1.30 | met |
| zstd: time by that of decompression alone | 1.31 (1.31–1.31) | at most 1.30 | **missed** |
| the most memory of any run | 129 MB | at most 128 MB | **missed** |
`
	var b strings.Builder
	r := testReport(t)
	r.writeDecisionLogs(&b)
	if got := strings.ReplaceAll(b.String(), "`", "'"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	page := r.page()
	for _, want := range []string{
		b.String(), "- DuckDB: v9.8.7.", "  SET threads = THREADS;\n  SELECT x\n  FROM 'FILE'\n  ```", "- jq: none. `jq -c '.path'`", "example.com/compress v1.2.3",
		"within 1.1 %.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// All of the interval is below 1, or not.
func TestSlowerThroughput(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]measure.Spread{
		"**0.80 (0.70–0.90) slower**": {Median: 0.8, Low: 0.7, High: 0.9},
		"0.80 (0.70–1.01)":            {Median: 0.8, Low: 0.7, High: 1.01},
		"0.80":                        {Median: 0.8, Low: math.Inf(-1), High: math.Inf(1)},
		"–":                           {},
	} {
		if got := timesText(s); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
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
	slower := strings.ReplaceAll(serverText, "000 ns/op", "500000 ns/op")
	if r.parts["server"], err = parseResults("server", []byte(serverText+slower)); err != nil {
		t.Fatal(err)
	}
	page := r.page()
	for _, want := range []string{warning, "While the server figures were taken,", "took up to 9.00 times as long", "| less than the noise |  | time 0.65, 20 allocs | **missed**: time (not measurable) |"} {
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

// The labels of the plot lie within it, the longest too.
func TestRatioPlotLabels(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, row := range bench.Rows {
		for _, impl := range []string{"opa", "regometer"} {
			fmt.Fprintf(&text, "BenchmarkMetrics/case=%s/goroutines=1/impl=%s 1 1 ns/op\n", row.Name, impl)
		}
	}
	metrics, err := parseResults("metrics", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	plot := report{parts: map[string]measure.Results{"metrics": metrics}}.ratioPlot()
	labels := regexp.MustCompile(`<text x="([\d.]+)" [^>]*text-anchor="end"[^>]*>(.*)</text>`).FindAllSubmatch(plot, -1)
	if len(labels) == 0 {
		t.Fatal("no labels found")
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
