// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/regometer/regometer/bench"
)

// A table is a table of the page.
type table struct {
	title string
	head  []string
	rows  [][]string
}

func (t *table) add(cells ...[]string) { t.rows = append(t.rows, slices.Concat(cells...)) }

func (t table) String() string { return "\n### " + t.title + "\n\n" + t.text() }

// text returns the table without its title.
func (t table) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n%s|\n", strings.Join(t.head, " | "), strings.Repeat("|---", len(t.head)))
	for _, cells := range t.rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// A verdict has the limits of a row, and the names of the limits that it
// misses.
type verdict struct{ wants, missed []string }

func (v *verdict) check(name, want string, met bool) {
	if v.wants = append(v.wants, name+" "+want); !met {
		v.missed = append(v.missed, name)
	}
}

// atMost checks a figure, unless the limit is bench.Unlimited.
func (v *verdict) atMost(name string, figure, limit float64, format func(float64) string) {
	if limit != bench.Unlimited {
		v.check(name, format(limit), figure <= limit)
	}
}

// cells returns the last two cells of a row.
func (v verdict) cells() []string {
	switch {
	case len(v.wants) == 0:
		return []string{"", ""}
	case len(v.missed) == 0:
		return []string{strings.Join(v.wants, ", "), "met"}
	default:
		return []string{strings.Join(v.wants, ", "), "**missed**: " + strings.Join(v.missed, ", ")}
	}
}

// besideOPA returns the cells of a benchmark that both sides run.
func (r results) besideOPA(title, name string, t *bench.Target) []string {
	ratio := func(other, unit string) spread { return r.ratio(name, "regometer", other, unit) }
	time, bytes, floor := ratio("opa", nanoseconds), ratio("opa", allocated), ratio("floor", nanoseconds)
	bytesText := bold(bytes.isLoss(), number(bytes.Center), "more")
	if r.median(name, "opa", allocated) == 0 {
		bytesText = map[bool]string{true: dash, false: "**more**"}[bytes.Center == 0]
	}
	var v verdict
	if t != nil {
		v.atMost("time", time.Center, t.Time, number)
		v.atMost("floor", floor.Center, t.Floor, number)
		v.atMost("bytes", bytes.Center, t.Bytes, number)
		v.atMost("allocs", r.median(name, "regometer", allocations), t.Allocs, count)
	}
	cells := []string{title, r.cost(name, "opa"), r.cost(name, "regometer"), time.marked("slower"), bytesText, orDash(floor.Center, number)}
	return append(cells, v.cells()...)
}

// cost returns the time, bytes and allocations of a benchmark.
func (r results) cost(name, impl string) string {
	return fmt.Sprintf("%s, %s, %s", duration(r.median(name, impl, nanoseconds)),
		size(r.median(name, impl, allocated)), count(r.median(name, impl, allocations)))
}

// readmeTable returns the table in README.md.
func (r report) readmeTable() string {
	t := table{head: []string{"case", "OPA: time, bytes, allocs", "Regometer: time, bytes, allocs", "time"}}
	t.add(r["metrics"].besideOPA("A request: New, 4 timers, 1 counter; 1 goroutine", "Metrics/case=request/goroutines=1", nil)[:4])
	const server = "Server/case=plain"
	of := r["server"]
	t.add([]string{"An OPA server: `POST /v1/data/rbac/allow`", of.cost(server, "unmodified"), of.cost(server, "dropin"),
		of.ratio(server, "dropin", "unmodified", nanoseconds).marked("slower")})
	return t.text()
}

// packageTables returns the tables of the cases with a target, and of the
// others.
func packageTables(r results) []table {
	head := []string{"case", "OPA: time, bytes, allocs", "Regometer: time, bytes, allocs", "time", "bytes", "to limit", "target, at most", ""}
	tables := []table{{title: "Cases with a target", head: head}, {title: "Other cases", head: head[:6]}}
	for _, c := range bench.Cases {
		for _, goroutines := range c.Goroutines {
			name, title := fmt.Sprintf("Metrics/case=%s/goroutines=%d", c.Name, goroutines), c.Title
			if !r.has(name, "opa") || !r.has(name, "regometer") {
				continue
			}
			if len(c.Goroutines) > 1 {
				title += map[int]string{1: "; 1 goroutine", 2: "; 2 goroutines"}[goroutines]
			}
			t, target := &tables[0], c.Target
			if target == nil {
				t = &tables[1]
			} else if target.Goroutines != goroutines {
				target = nil
			}
			t.add(r.besideOPA(title, name, target)[:len(t.head)])
		}
	}
	return tables
}

func embeddedTables(r results) []table {
	t := table{title: "A decision in a program that uses OPA as a library",
		head: []string{"case", "OPA: time, bytes, allocs", "the drop-in: time, bytes, allocs", "time", "bytes", "target, at most", ""}}
	for _, c := range []struct {
		name, title string
		target      *bench.Target
	}{
		{"noop", "NoOp: no metrics", nil},
		{"marshal", "All and json.Marshal", nil},
		{"append", "AppendJSON (OPA: MarshalJSON)", nil},
		{"instrumented", "instrumented, All and json.Marshal", &bench.Target{Time: 0.55, Bytes: 0.22, Floor: unlimited, Allocs: unlimited}},
	} {
		cells := r.besideOPA(c.title, "Decision/case="+c.name, c.target)
		t.add(cells[:5], cells[6:]) // there is no limit
	}
	// These are differences of medians. The difference of two figures of one
	// run has more noise than metrics add.
	added := func(impl, name, unit string) float64 {
		return r.median("Decision/case="+name, impl, unit) - r.median("Decision/case=noop", impl, unit)
	}
	for _, c := range []struct {
		name, title  string
		time, allocs float64
	}{{"marshal", "All and json.Marshal", 0.65, 20}, {"append", "AppendJSON", 0.3, 4}} {
		opa, ours := added("opa", "marshal", nanoseconds), added("regometer", c.name, nanoseconds)
		ratio, ratioText := ours/opa, number(ours/opa)
		if opa <= 0 || ours <= 0 {
			ratio, ratioText = math.Inf(1), "less than the noise"
		}
		allocs := added("regometer", c.name, allocations)
		var v verdict
		v.atMost("time", ratio, c.time, number)
		v.atMost("allocs", allocs, c.allocs, count)
		t.add([]string{"what metrics add: time, allocs; " + c.title, duration(opa) + ", " + count(added("opa", "marshal", allocations)),
			duration(ours) + ", " + count(allocs), ratioText, ""}, v.cells())
	}
	return []table{t}
}

// serverFigures are the columns of the servers' tables.
var serverFigures = []struct{ title, unit string }{
	{"allocations", allocations},
	{"bytes", allocated},
	{"processor time", processorTime},
	{"time until the next answer", nanoseconds},
}

func serverTables(r results) []table { return tablesOf(r, servers) }

// tablesOf returns the tables of servers, one for each mode. They show all
// figures beside those of the first server.
func tablesOf(r results, servers []server) (tables []table) {
	for _, mode := range modes {
		name := "Server/case=" + mode.name
		t := table{title: "The server under load: `POST /v1/data/rbac/allow" + mode.query + "`", head: []string{""}}
		for _, figure := range serverFigures {
			t.head = append(t.head, figure.title)
		}
		t.head = append(t.head, "target", "")
		for _, s := range servers {
			if !r.has(name, s.impl) {
				continue
			}
			var v verdict
			cells, beside := []string{s.title}, []string{s.besideTitle}
			for i, figure := range serverFigures {
				cell := r.cell(name, s.impl, figure.unit)
				ratio := r.ratio(name, s.impl, servers[0].impl, figure.unit)
				if cell != dash && s.impl != servers[0].impl {
					cell += "; " + bold(s.rival && ratio.isLoss(), ratio.String(), "more")
				}
				if s.target && i < 2 {
					v.check(figure.title, "below OPA's", ratio.Center < 1)
				}
				cells = append(cells, cell)
				beside = append(beside, r.ratio(name, s.impl, s.beside, figure.unit).marked("more"))
			}
			t.add(cells, v.cells())
			if s.beside != "" {
				t.add(beside, []string{"", ""})
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// A figureRow is a row of a matrix: a figure of a benchmark.
type figureRow struct{ title, name, unit string }

// A column is a column of a matrix: the figures of an implementation, or a
// ratio.
type column struct {
	title, impl string
	ratio       func(name string) string
}

// matrix returns a table of medians. It leaves out the rows for which Regometer
// has no figure.
func (r results) matrix(title, corner string, rows []figureRow, columns ...column) table {
	t := table{title: title, head: []string{corner}}
	for _, c := range columns {
		t.head = append(t.head, c.title)
	}
	for _, row := range rows {
		if !r.has(row.name, "regometer") {
			continue
		}
		cells := []string{row.title}
		for _, c := range columns {
			if c.ratio != nil {
				cells = append(cells, c.ratio(row.name))
			} else {
				cells = append(cells, r.cell(row.name, c.impl, row.unit))
			}
		}
		t.add(cells)
	}
	return t
}

var peerRows = []figureRow{
	{"record, close values, 1 goroutine", "Record/sigma=0.25/goroutines=1", nanoseconds},
	{"record, close values, 2 goroutines", "Record/sigma=0.25/goroutines=2", nanoseconds},
	{"record, 1 goroutine", "Record/sigma=1/goroutines=1", nanoseconds},
	{"record, 2 goroutines", "Record/sigma=1/goroutines=2", nanoseconds},
	{"read all of it for export", "Read/sigma=1", nanoseconds},
	{"memory after 10,000 close values", "Memory/sigma=0.25", histogramMemory},
	{"memory after 10,000 values, σ = 0.5", "Memory/sigma=0.5", histogramMemory},
	{"memory after 10,000 values, σ = 1", "Memory/sigma=1", histogramMemory},
	{"memory after 10,000 values, σ = 1.5", "Memory/sigma=1.5", histogramMemory},
}

const unlimited = bench.Unlimited

var stageRows = []struct {
	title, name, impl string
	time, allocs      float64 // at most
}{
	{"histogram: seven quantiles of a snapshot", "Quantiles/sigma=1", "regometer", 1000, unlimited},
	{"rollup: fold in a decision of 8 metrics, OPA's map; 1 goroutine", "Add/form=map/goroutines=1", "regometer", 600, 0},
	{"… 2 goroutines", "Add/form=map/goroutines=2", "regometer", unlimited, 0},
	{"… a collection; 1 goroutine", "Add/form=collection/goroutines=1", "regometer", 600, 0},
	{"… parsed numbers; 1 goroutine", "Add/form=numbers/goroutines=1", "regometer", 600, 0},
	{"… limit: going over OPA's map alone", "Add/form=map/goroutines=1", "map", unlimited, unlimited},
	{"… limit: recording six durations alone", "Add/form=map/goroutines=1", "record", unlimited, unlimited},
	{"plugin: a decision straight from the server; 1 goroutine", "ObserveDecision/goroutines=1", "regometer", 600, 0},
	{"… 2 goroutines", "ObserveDecision/goroutines=2", "regometer", unlimited, 0},
	{"… limit: its numbers in the rollup alone", "ObserveDecision/goroutines=1", "floor", unlimited, unlimited},
	{"plugin: Log, an event of the decision log; 1 goroutine", "Log/goroutines=1", "regometer", 1000, 0},
	{"… 2 goroutines", "Log/goroutines=2", "regometer", unlimited, 0},
	{"rollup: snapshot of a full one", "Snapshot", "regometer", unlimited, 0},
	{"scrape of 100 histograms in text", "Scrape/format=text", "regometer", unlimited, unlimited},
	{"… the same shape by client_golang's own types", "Scrape/format=text", "client_golang", unlimited, unlimited},
	{"scrape of 100 histograms by protobuf", "Scrape/format=protobuf", "regometer", unlimited, unlimited},
	{"… the same shape by client_golang's own types", "Scrape/format=protobuf", "client_golang", unlimited, unlimited},
}

func stageTables(r results) []table {
	t := table{title: "From a decision to a scrape", head: []string{"", "time", "bytes", "allocations", "target, at most", ""}}
	for _, row := range stageRows {
		if !r.has(row.name, row.impl) {
			continue
		}
		time, allocs := r.median(row.name, row.impl, nanoseconds), r.median(row.name, row.impl, allocations)
		var v verdict
		v.atMost("time", time, row.time, duration)
		v.atMost("allocations", allocs, row.allocs, count)
		t.add([]string{row.title, duration(time), size(r.median(row.name, row.impl, allocated)), count(allocs)}, v.cells())
	}
	peers := r.matrix("A histogram beside its peers", "", peerRows,
		column{title: "exphist", impl: "regometer"},
		column{title: "Prometheus, native", impl: "prometheus"},
		column{title: "VictoriaMetrics", impl: "victoriametrics"},
		column{title: "OpenTelemetry, exponential", impl: "opentelemetry"},
		column{title: "one atomic add", impl: "floor"},
	)
	return []table{peers, t}
}

var logTargets = []struct {
	title, name       string
	impl, other, unit string // the figure of impl is divided by that of other
	least             float64
}{
	{"0.67 KB a decision: throughput by DuckDB's", "ndjson", "regometer", "duckdb", throughput, 2.2},
	{"8 KB a decision: throughput by DuckDB's", "ndjson_8k", "regometer", "duckdb", throughput, 8},
	{"0.67 KB a decision: throughput by that of 1 worker", "ndjson", "regometer", "regometer_one", throughput, 1.7},
	{"8 KB a decision: throughput by that of 1 worker", "ndjson_8k", "regometer", "regometer_one", throughput, 1.7},
	{"docker's json-file: DuckDB's time on the unwrapped log by ours", "docker", "duckdb", "regometer", nanoseconds, 1},
	{"… throughput by DuckDB's, each by the bytes of its own file", "docker", "regometer", "duckdb", throughput, 1},
}

// memoryLimit limits the memory that is resident, in bytes.
const memoryLimit = 96e6

func logTables(r results) []table {
	var speedRows, memoryRows []figureRow
	for _, c := range logCases {
		name := "Report/case=" + c.name
		memoryRows = append(memoryRows, figureRow{c.title, name, resident})
		if c.name != "one" {
			speedRows = append(speedRows, figureRow{c.title, name, throughput})
		}
	}
	byDuckDB := func(name string) string {
		slower := r.ratio(name, "duckdb", "regometer", throughput).isLoss()
		return bold(slower, r.ratio(name, "regometer", "duckdb", throughput).String(), "slower")
	}

	targets := table{title: "Targets of `regometer report`", head: []string{"", "", "target", ""}}
	judge := func(title, figure, limit string, measured, met bool) {
		verdict := map[bool]string{true: "met", false: "**missed**"}[met]
		if !measured {
			verdict = "not measured"
		}
		targets.add([]string{title, figure, limit, verdict})
	}
	for _, t := range logTargets {
		ratio := r.ratio("Report/case="+t.name, t.impl, t.other, t.unit)
		judge(t.title, ratio.String(), "at least "+number(t.least), ratio.Center > 0, t.least <= ratio.Center)
	}
	var peak float64 // of `regometer report`, in any run
	for k := range r.samples {
		if strings.HasPrefix(k.impl, "regometer") {
			peak = max(peak, slices.Max(r.values(k.name, k.impl, resident)))
		}
	}
	judge("the most memory of any run", orDash(peak, size), "at most "+size(memoryLimit), peak > 0, peak <= memoryLimit)

	return []table{
		r.matrix("Throughput", "a log of", speedRows,
			column{title: "DuckDB, 1 thread", impl: "duckdb_one"},
			column{title: "DuckDB", impl: "duckdb"},
			column{title: "regometer, portable", impl: "regometer_portable"},
			column{title: "regometer, 1 worker", impl: "regometer_one"},
			column{title: "regometer", impl: "regometer"},
			column{title: "by DuckDB's", ratio: byDuckDB},
		),
		r.matrix("The most memory resident", "a log of", memoryRows,
			column{title: "regometer", impl: "regometer"},
			column{title: "… from standard input", impl: "regometer_stdin"},
			column{title: "DuckDB", impl: "duckdb"},
		),
		targets,
	}
}
