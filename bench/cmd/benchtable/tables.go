// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/regometer/regometer/bench"
	"github.com/regometer/regometer/internal/app/outfile"
)

// A report is the results of the parts.
type report map[string]results

// A table is one of the page's.
type table struct {
	title string
	head  []string
	rows  [][]string
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

func (t table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n| %s |\n%s|\n", t.title, strings.Join(t.head, " | "), strings.Repeat("|---", len(t.head)))
	for _, cells := range t.rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// A verdict collects what a row must reach, and what it does not.
type verdict struct{ wants, missed []string }

func (v *verdict) check(want string, met bool, name string) {
	if v.wants = append(v.wants, want); !met {
		v.missed = append(v.missed, name)
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

// comparison returns the cells that compare a benchmark's two sides.
func (r results) comparison(name string) []string {
	cells := make([]string, 0, 4)
	for _, impl := range []string{"opa", "regometer"} {
		cells = append(cells, fmt.Sprintf("%s, %s, %.0f", duration(r.median(name, impl, nanoseconds)),
			size(r.median(name, impl, allocated)), r.median(name, impl, allocations)))
	}
	bytes, ours := r.ratio(name, "regometer", "opa", allocated), r.median(name, "regometer", allocated)
	text := number(bytes.Center)
	switch opa := r.median(name, "opa", allocated); {
	case opa == 0 && ours == 0:
		text = "–"
	case opa == 0:
		text = "**more**"
	case bytes.isLoss():
		text = "**" + text + " more**"
	}
	return append(cells, r.ratio(name, "regometer", "opa", nanoseconds).marked("slower"), text)
}

// A line is a case with a number of goroutines that was measured.
type line struct {
	bench.Case
	name, title string
	target      *bench.Target
	time, floor spread // ratios
}

// lines returns those of the cases that have a target, or of the others.
func (r results) lines(targets bool) (lines []line) {
	for _, c := range bench.Cases {
		for _, goroutines := range c.Goroutines {
			l := line{Case: c, name: fmt.Sprintf("Metrics/case=%s/goroutines=%d", c.Name, goroutines), title: c.Title}
			if targets != (c.Target != nil) || !r.has(l.name, "opa") || !r.has(l.name, "regometer") {
				continue
			}
			if len(c.Goroutines) > 1 {
				l.title += "; " + strings.TrimSuffix(fmt.Sprintf("%d goroutines", goroutines), strings.Repeat("s", 2-goroutines))
			}
			if targets && c.Target.Goroutines == goroutines {
				l.target = c.Target
			}
			l.time, l.floor = r.ratio(l.name, "regometer", "opa", nanoseconds), r.ratio(l.name, "regometer", "floor", nanoseconds)
			lines = append(lines, l)
		}
	}
	return lines
}

func (r results) judge(l line) (v verdict) {
	t := l.target
	if t == nil {
		return v
	}
	if t.Time > 0 {
		v.check("time "+number(t.Time), l.time.Center <= t.Time, "time")
	}
	if t.Floor > 0 {
		v.check("floor "+number(t.Floor), l.floor.Center <= t.Floor, "floor")
	}
	if t.Bytes >= 0 {
		v.check("bytes "+number(t.Bytes), r.ratio(l.name, "regometer", "opa", allocated).Center <= t.Bytes, "bytes")
	}
	v.check(fmt.Sprintf("%d allocs", t.Allocs), r.median(l.name, "regometer", allocations) <= float64(t.Allocs), "allocs")
	return v
}

func packageTables(r results) []table {
	head := []string{"case", "OPA: time, bytes, allocs", "Regometer: time, bytes, allocs", "time", "bytes", "to floor"}
	tables := []table{{title: "Cases with a target", head: append(slices.Clone(head), "target, at most", "")}, {title: "Other cases", head: head}}
	for i := range tables {
		for _, l := range r.lines(i == 0) {
			cells := slices.Concat([]string{l.title}, r.comparison(l.name), []string{text(l.floor.Center, number)}, r.judge(l).cells())
			tables[i].row(cells[:len(tables[i].head)]...)
		}
	}
	return tables
}

func embeddedTables(r results) []table {
	t := table{title: "A decision in a program that uses OPA as a library",
		head: []string{"case", "OPA: time, bytes, allocs", "the drop-in: time, bytes, allocs", "time", "bytes", "target, at most", ""}}
	for _, c := range []struct {
		name, title string
		time, bytes float64
	}{
		{"noop", "NoOp: no metrics", 0, 0},
		{"marshal", "All and json.Marshal", 0, 0},
		{"append", "AppendJSON (OPA: MarshalJSON)", 0, 0},
		{"instrumented", "instrumented, All and json.Marshal", 0.55, 0.22},
	} {
		var v verdict
		name := "Decision/case=" + c.name
		if c.time > 0 {
			v.check("time "+number(c.time), r.ratio(name, "regometer", "opa", nanoseconds).Center <= c.time, "time")
			v.check("bytes "+number(c.bytes), r.ratio(name, "regometer", "opa", allocated).Center <= c.bytes, "bytes")
		}
		t.row(slices.Concat([]string{c.title}, r.comparison(name), v.cells())...)
	}
	// Differences of medians: a difference of two figures of a single run
	// has more noise than metrics add.
	added := func(impl, name, unit string) float64 {
		return r.median("Decision/case="+name, impl, unit) - r.median("Decision/case=noop", impl, unit)
	}
	for _, c := range []struct {
		name, title  string
		time, allocs float64
	}{{"marshal", "All and json.Marshal", 0.65, 20}, {"append", "AppendJSON", 0.3, 4}} {
		opa, ours := added("opa", "marshal", nanoseconds), added("regometer", c.name, nanoseconds)
		var v verdict
		ratio := "less than the noise"
		if opa > 0 && ours > 0 {
			ratio = number(ours / opa)
			v.check("time "+number(c.time), ours/opa <= c.time, "time")
		} else {
			v.check("time "+number(c.time), false, "time (not measurable)")
		}
		allocs := added("regometer", c.name, allocations)
		v.check(count(c.allocs)+" allocs", allocs <= c.allocs, "allocs")
		t.row(append([]string{"what metrics add: time, allocs; " + c.title, duration(opa) + ", " + count(added("opa", "marshal", allocations)),
			duration(ours) + ", " + count(allocs), ratio, ""}, v.cells()...)...)
	}
	return []table{t}
}

// serverFigures are the columns of the servers' tables.
var serverFigures = []struct {
	title, unit string
	text        func(float64) string
}{
	{"allocations", allocations, count},
	{"bytes", allocated, size},
	{"processor time", processorTime, duration},
	{"time until the next answer", nanoseconds, duration},
}

func serverTables(r results) (tables []table) {
	for _, mode := range modes {
		name := "Server/case=" + mode.name
		t := table{title: "The server under load: `POST /v1/data/rbac/allow" + mode.query + "`", head: []string{""}}
		for _, figure := range serverFigures {
			t.head = append(t.head, figure.title)
		}
		t.head = append(t.head, "target", "")
		for _, s := range servers {
			cells, beside := []string{s.title}, []string{s.besideTitle}
			for _, figure := range serverFigures {
				v := r.median(name, s.impl, figure.unit)
				ratio := r.ratio(name, s.impl, servers[0].impl, figure.unit)
				switch {
				case v == 0 || s.impl == servers[0].impl: // 0 is not known on this system
					cells = append(cells, text(v, figure.text))
				case s.rival:
					cells = append(cells, figure.text(v)+"; "+ratio.marked("more"))
				default:
					cells = append(cells, figure.text(v)+"; "+ratio.String())
				}
				beside = append(beside, r.ratio(name, s.impl, s.beside, figure.unit).marked("more"))
			}
			t.row(append(cells, judgeServer(r, s, name).cells()...)...)
			if s.beside != "" {
				t.row(append(beside, "", "")...)
			}
		}
		tables = append(tables, t)
	}
	return tables
}

func judgeServer(r results, s server, name string) (v verdict) {
	if !s.target {
		return v
	}
	v.wants = []string{"allocations and bytes below unmodified OPA's, nothing on"}
	for _, figure := range serverFigures[:2] {
		if !(r.ratio(name, s.impl, servers[0].impl, figure.unit).Center < 1) {
			v.missed = append(v.missed, figure.title)
		}
	}
	return v
}

var peers = []struct{ impl, title string }{
	{"regometer", "exphist"},
	{"prometheus", "Prometheus, native"},
	{"victoriametrics", "VictoriaMetrics"},
	{"opentelemetry", "OpenTelemetry, exponential"},
	{"floor", "one atomic add"},
}

var peerRows = []struct {
	title, name, unit string
	text              func(float64) string
}{
	{"record, close values, 1 goroutine", "Record/sigma=0.25/goroutines=1", nanoseconds, duration},
	{"record, close values, 2 goroutines", "Record/sigma=0.25/goroutines=2", nanoseconds, duration},
	{"record, 1 goroutine", "Record/sigma=1/goroutines=1", nanoseconds, duration},
	{"record, 2 goroutines", "Record/sigma=1/goroutines=2", nanoseconds, duration},
	{"read all of it for export", "Read/sigma=1", nanoseconds, duration},
	{"memory after 10,000 close values", "Memory/sigma=0.25", histogramMemory, size},
	{"memory after 10,000 values, σ = 0.5", "Memory/sigma=0.5", histogramMemory, size},
	{"memory after 10,000 values, σ = 1", "Memory/sigma=1", histogramMemory, size},
	{"memory after 10,000 values, σ = 1.5", "Memory/sigma=1.5", histogramMemory, size},
}

var stageRows = []struct {
	title, name, impl string
	time              float64 // ns, at most; 0 for no target
	noAllocs          bool    // whether 0 is the target
}{
	{"histogram: seven quantiles of a snapshot", "Quantiles/sigma=1", "regometer", 1000, false},
	{"rollup: fold in a decision of 8 metrics, OPA's map; 1 goroutine", "Add/form=map/goroutines=1", "regometer", 600, true},
	{"… 2 goroutines", "Add/form=map/goroutines=2", "regometer", 0, true},
	{"… a collection; 1 goroutine", "Add/form=collection/goroutines=1", "regometer", 600, true},
	{"… parsed numbers; 1 goroutine", "Add/form=numbers/goroutines=1", "regometer", 600, true},
	{"… floor: going over OPA's map alone", "Add/form=map/goroutines=1", "map", 0, false},
	{"… floor: recording six durations alone", "Add/form=map/goroutines=1", "record", 0, false},
	{"plugin: a decision straight from the server; 1 goroutine", "ObserveDecision/goroutines=1", "regometer", 600, true},
	{"… 2 goroutines", "ObserveDecision/goroutines=2", "regometer", 0, true},
	{"… floor: its numbers in the rollup alone", "ObserveDecision/goroutines=1", "floor", 0, false},
	{"plugin: Log, an event of the decision log; 1 goroutine", "Log/goroutines=1", "regometer", 1000, true},
	{"… 2 goroutines", "Log/goroutines=2", "regometer", 0, true},
	{"rollup: snapshot of a full one", "Snapshot", "regometer", 0, true},
	{"scrape of 100 histograms in text", "Scrape/format=text", "regometer", 0, false},
	{"… the same shape by client_golang's own types", "Scrape/format=text", "client_golang", 0, false},
	{"scrape of 100 histograms by protobuf", "Scrape/format=protobuf", "regometer", 0, false},
	{"… the same shape by client_golang's own types", "Scrape/format=protobuf", "client_golang", 0, false},
	{"OPA's server: POST /v1/data, no decision logging", "Server", "none", 0, false},
	{"… with a decision logger that does nothing", "Server", "noop", 0, false},
	{"… with the plugin as decision logger", "Server", "regometer", 0, false},
}

func stageTables(r results) []table {
	beside := table{title: "A histogram beside its peers", head: []string{""}}
	for _, p := range peers {
		beside.head = append(beside.head, p.title)
	}
	for _, row := range peerRows {
		cells := []string{row.title}
		for _, p := range peers {
			cells = append(cells, text(r.median(row.name, p.impl, row.unit), row.text))
		}
		beside.row(cells...)
	}
	way := table{title: "From a decision to a scrape", head: []string{"", "time", "bytes", "allocations", "target, at most", ""}}
	for _, row := range stageRows {
		if !r.has(row.name, row.impl) {
			continue
		}
		time, allocs := r.median(row.name, row.impl, nanoseconds), r.median(row.name, row.impl, allocations)
		var v verdict
		if row.time > 0 {
			v.check(duration(row.time), time <= row.time, "time")
		}
		if row.noAllocs {
			v.check("0 allocations", allocs == 0, "allocations")
		}
		way.row(append([]string{row.title, duration(time), size(r.median(row.name, row.impl, allocated)), count(allocs)}, v.cells()...)...)
	}
	return []table{beside, way}
}

// logRows are the rows of the table of throughput.
var logRows = []struct{ title, name string }{
	{"0.5 KB a decision", "ndjson_512"},
	{"8 KB a decision", "ndjson_8k"},
	{"0.5 KB a decision, spaced by json.dumps", "spaced"},
	{"0.5 KB a decision, indented by json.Indent", "pretty"},
	{"0.5 KB a decision, in docker's json-file; DuckDB without that", "docker"},
}

// logSides are its columns.
var logSides = []struct{ title, impl string }{
	{"DuckDB, 1 thread", "duckdb_one"},
	{"DuckDB", "duckdb_all"},
	{"jq, two fields", "jq"},
	{"encoding/json", "encoding_json"},
	{"regometer, portable", "regometer_portable"},
	{"regometer, 1 worker", "regometer_one"},
	{"regometer", "regometer_all"},
}

// memoryRows are the rows of the table of memory.
var memoryRows = []struct{ title, name string }{
	{"0.5 KB a decision", "ndjson_512"},
	{"8 KB a decision", "ndjson_8k"},
	{"spaced by json.dumps", "spaced"},
	{"indented by json.Indent", "pretty"},
	{"docker's json-file", "docker"},
	{"gzip", "gzip"},
	{"zstd", "zstd"},
}

// logTargets are ratios with a target.
var logTargets = []struct {
	title, name       string
	impl, other, unit string // whose figure is divided by whose
	limit             float64
	atMost            bool // and not at least
}{
	{"0.5 KB a decision: throughput by DuckDB's", "ndjson_512", "regometer_all", "duckdb_all", throughput, 3, false},
	{"8 KB a decision: throughput by DuckDB's", "ndjson_8k", "regometer_all", "duckdb_all", throughput, 8, false},
	{"0.5 KB a decision: throughput by that of 1 worker", "ndjson_512", "regometer_all", "regometer_one", throughput, 1.7, false},
	{"8 KB a decision: throughput by that of 1 worker", "ndjson_8k", "regometer_all", "regometer_one", throughput, 1.7, false},
	{"docker's json-file: DuckDB's time on the unwrapped log by ours", "docker", "duckdb_all", "regometer_all", nanoseconds, 1, false},
	{"… throughput by DuckDB's, each by the bytes of its own file", "docker", "regometer_all", "duckdb_all", throughput, 1, false},
	{"gzip: time by that of decompression alone", "gzip", "regometer_all", "library", nanoseconds, 1.3, true},
	{"zstd: time by that of decompression alone", "zstd", "regometer_all", "library", nanoseconds, 1.3, true},
}

// memoryLimit is the target for what is resident, in bytes.
const memoryLimit = 128e6

func logTables(r results) []table {
	speed := table{title: "Throughput", head: []string{"a log of"}}
	for _, side := range logSides {
		speed.head = append(speed.head, side.title)
	}
	speed.head = append(speed.head, "by DuckDB's")
	for _, row := range logRows {
		name := "Report/case=" + row.name
		if !r.has(name, "regometer_all") {
			continue
		}
		cells := []string{row.title}
		for _, side := range logSides {
			cells = append(cells, text(r.median(name, side.impl, throughput), rate))
		}
		ratio := r.ratio(name, "regometer_all", "duckdb_all", throughput)
		times := ratio.String()
		if ratio.Hi < 1 && ratio.Hi > 0 {
			times = "**" + times + " slower**"
		}
		speed.row(append(cells, times)...)
	}

	compressed := table{title: "Compressed logs", head: []string{"0.5 KB a decision", "regometer", "decompression alone", "time"}}
	for _, name := range []string{"gzip", "zstd"} {
		full := "Report/case=" + name
		compressed.row(name, text(r.median(full, "regometer_all", throughput), rate), text(r.median(full, "library", throughput), rate),
			r.ratio(full, "regometer_all", "library", nanoseconds).marked("slower"))
	}

	most := table{title: "The most memory resident", head: []string{"a log of", "regometer", "… of a quarter of the size", "DuckDB", "encoding/json"}}
	for _, row := range memoryRows {
		name := "Report/case=" + row.name
		if r.has(name, "regometer_all") {
			most.row(row.title, text(r.median(name, "regometer_all", resident), memory), text(r.median(name+"_quarter", "regometer_all", resident), memory),
				text(r.median(name, "duckdb_all", resident), memory), text(r.median(name, "encoding_json", resident), memory))
		}
	}

	targets := table{title: "Targets of `regometer report`", head: []string{"", "", "target", ""}}
	judge := func(title, figure, limit string, measured, met bool) {
		verdict := map[bool]string{true: "met", false: "**missed**"}[met]
		if !measured {
			verdict = "not measured"
		}
		targets.row(title, figure, limit, verdict)
	}
	for _, t := range logTargets {
		ratio := r.ratio("Report/case="+t.name, t.impl, t.other, t.unit)
		limit, met := "at least "+number(t.limit), ratio.Center >= t.limit
		if t.atMost {
			limit, met = "at most "+number(t.limit), ratio.Center <= t.limit
		}
		judge(t.title, ratio.String(), limit, ratio.Center > 0, met)
	}
	var peak float64 // of `regometer report`, in any run
	for k := range r.samples {
		if strings.HasPrefix(k.impl, "regometer") {
			peak = max(peak, slices.Max(r.values(k.name, k.impl, resident)))
		}
	}
	judge("the most memory of any run", text(peak, memory), "at most "+memory(memoryLimit), peak > 0, peak <= memoryLimit)
	return []table{speed, compressed, most, targets}
}

// tables returns the tables of each part.
var tables = map[string]func(results) []table{
	"metrics": packageTables, "embedded": embeddedTables, "server": serverTables, "stages": stageTables, "report": logTables,
}

// A section is what the page says of a part that was measured.
type section struct {
	Tables  string
	Config  map[string]string
	Varied  string // by how much time varied for the same code, if by a lot
	Clients int    // of the servers
}

// sections returns those of the parts that were measured.
func (r report) sections() map[string]section {
	sections := map[string]section{}
	for part, results := range r {
		if len(results.samples) == 0 {
			continue
		}
		s := section{Config: results.config, Varied: r.varied(part), Clients: connections}
		for _, t := range tables[part](results) {
			s.Tables += t.String()
		}
		sections[part] = s
	}
	return sections
}

// steady is code of each part that does not depend on Regometer: four clock
// readings, the decision without metrics, a request to OPA as it is, going over
// a map, encoding/json.
var steady = map[string]key{
	"metrics":  {"Metrics/case=timer_restart/goroutines=1", "floor"},
	"embedded": {"Decision/case=noop", "opa"},
	"server":   {"Server/case=plain", "unmodified"},
	"stages":   {"Add/form=map/goroutines=1", "map"},
	"report":   {"Report/case=ndjson_512", "encoding_json"},
}

// varied returns by how much the time of steady code varied between runs, or ""
// if it did not vary by much.
func (r report) varied(part string) string {
	const much = 1.5
	times := r[part].values(steady[part].name, steady[part].impl, nanoseconds)
	if len(times) == 0 || slices.Max(times) <= much*slices.Min(times) {
		return ""
	}
	return number(slices.Max(times) / slices.Min(times))
}

//go:embed page.md
var pageTemplate string

// breakSQL begins new lines in what DuckDB is asked.
var breakSQL = strings.NewReplacer("; ", ";\n  ", ", quantile_disc", ",\n    quantile_disc", " FROM ", "\n  FROM ", ", columns", ",\n    columns",
	"STRUCT(", "STRUCT(\n    ", " GROUP BY", "\n  GROUP BY")

// page returns the text of docs/performance.md.
func (r report) page() (string, error) {
	page, err := template.New("page.md").Funcs(template.FuncMap{"sql": breakSQL.Replace}).Parse(pageTemplate)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = page.Execute(&b, map[string]any{"Parts": allParts, "Of": r.sections()})
	return b.String(), err
}

// text returns the tables of whatever was measured.
func (r report) text() (text string) {
	sections := r.sections()
	for _, part := range allParts {
		text += sections[part].Tables
	}
	return text
}

// save writes the page, its plots and the raw figures.
func (r report) save(out string, raw map[string][]byte) error {
	page, err := r.page()
	if err != nil {
		return err
	}
	files := map[string][]byte{"performance.md": []byte(page)}
	for part, text := range raw {
		files[filepath.Join("performance", part+".txt")] = text
	}
	maps.Copy(files, r.plots())
	if err := os.MkdirAll(filepath.Join(out, "performance"), 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := outfile.Write(filepath.Join(out, name), text); err != nil {
			return err
		}
	}
	return nil
}
