// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/regometer/regometer/bench"
	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/app/outfile"
)

// A report writes the page from the parts' results.
type report struct{ parts map[string]measure.Results }

// A line is what the page says about one comparison.
type line struct {
	title       string
	opa, ours   string         // time, bytes, allocations
	time, bytes measure.Spread // ours by OPA's
	hasBytes    bool
	floor       measure.Spread // ours by the floor, if there is one
	target      string
	verdict     string
	name        string // the benchmark's
	limit       float64
}

// lines returns the comparisons of one of the catalogue's groups.
func (r report) lines(group string) []line {
	m := r.parts["metrics"]
	var lines []line
	for _, row := range bench.Rows {
		if row.Group != group {
			continue
		}
		for _, goroutines := range row.Goroutines {
			name := fmt.Sprintf("case=%s/goroutines=%d", row.Name, goroutines)
			if !m.Has(name, "opa") || !m.Has(name, "regometer") {
				continue
			}
			l := compare(m, name)
			l.title = row.Title
			if len(row.Goroutines) > 1 {
				l.title += fmt.Sprintf("; %d goroutines", goroutines)
				if goroutines == 1 {
					l.title = strings.TrimSuffix(l.title, "s")
				}
			}
			if row.Target != nil && row.TargetGoroutines == goroutines {
				l.target, l.verdict = judge(m, name, l, *row.Target)
				l.limit = row.Target.Time
			}
			lines = append(lines, l)
		}
	}
	return lines
}

func compare(r measure.Results, name string) line {
	return line{
		name:     name,
		opa:      r.Figures(name, "opa"),
		ours:     r.Figures(name, "regometer"),
		time:     r.Ratio(name, "regometer", "opa", measure.Nanoseconds),
		bytes:    r.Ratio(name, "regometer", "opa", measure.Bytes),
		hasBytes: r.Median(name, "opa", measure.Bytes) > 0 || r.Median(name, "regometer", measure.Bytes) > 0,
		floor:    r.Ratio(name, "regometer", "floor", measure.Nanoseconds),
	}
}

// judge returns a row's target in words, and whether it is met.
func judge(m measure.Results, name string, l line, t bench.Target) (target, verdict string) {
	var wants, missed []string
	check := func(want string, ok bool, got string) {
		wants = append(wants, want)
		if !ok {
			missed = append(missed, got)
		}
	}
	if t.Time > 0 {
		check(fmt.Sprintf("time %s", measure.Number(t.Time)), l.time.Median <= t.Time, "time")
	}
	if t.Floor > 0 {
		check(fmt.Sprintf("floor %s", measure.Number(t.Floor)), l.floor.Median <= t.Floor, "floor")
	}
	if t.Bytes >= 0 {
		check(fmt.Sprintf("bytes %s", measure.Number(t.Bytes)), l.bytes.Median <= t.Bytes, "bytes")
	}
	check(fmt.Sprintf("%d allocs", t.Allocs), m.Median(name, "regometer", measure.Allocations) <= float64(t.Allocs), "allocs")
	return strings.Join(wants, ", "), verdictOf(missed)
}

func verdictOf(missed []string) string {
	if len(missed) == 0 {
		return "met"
	}
	return "**missed**: " + strings.Join(missed, ", ")
}

// writeTables prints the tables of whatever was measured.
func (r report) writeTables(w io.Writer) error {
	var b strings.Builder
	if r.measured("metrics") {
		for _, group := range []string{bench.Targets, bench.Others} {
			r.writeGroup(&b, group)
		}
	}
	if r.measured("embedded") {
		r.writeEmbedded(&b)
	}
	if r.measured("server") {
		r.writeServer(&b)
	}
	if r.measured("stages") {
		r.writeStages(&b)
	}
	if r.measured("report") {
		r.writeDecisionLogs(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r report) measured(part string) bool { return len(r.parts[part].Samples) > 0 }

func (r report) writeGroup(b *strings.Builder, group string) {
	lines := r.lines(group)
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n", group)
	if group == bench.Targets {
		b.WriteString("| case | OPA: time, bytes, allocs | Regometer: time, bytes, allocs | time | bytes | to floor | target, at most | |\n|---|---|---|---|---|---|---|---|\n")
	} else {
		b.WriteString("| case | OPA: time, bytes, allocs | Regometer: time, bytes, allocs | time | bytes | to floor |\n|---|---|---|---|---|---|\n")
	}
	for _, l := range lines {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |", l.title, l.opa, l.ours, l.timeText(), l.bytesText(), l.floorText())
		if group == bench.Targets {
			fmt.Fprintf(b, " %s | %s |", l.target, l.verdict)
		}
		b.WriteString("\n")
	}
}

func (l line) timeText() string { return l.time.Marked("slower") }

func (l line) bytesText() string {
	if !l.hasBytes {
		return "–"
	}
	if l.bytes.IsLoss() {
		return "**" + measure.Number(l.bytes.Median) + " more**"
	}
	return measure.Number(l.bytes.Median)
}

func (l line) floorText() string {
	if l.floor.Median == 0 || math.IsInf(l.floor.Median, 0) {
		return "–"
	}
	return measure.Number(l.floor.Median)
}

// An addition is what metrics add to a decision without them.
type addition struct {
	title  string
	name   string     // of the variant
	time   [2]float64 // what OPA's package adds with json.Marshal, and ours
	allocs [2]float64 // likewise
	limit  float64
	most   float64 // allocations
}

// additions are the two rows of the embedded decision that have a target.
func (r report) additions() []addition {
	e := r.parts["embedded"]
	rows := []addition{
		{title: "what metrics add: time, allocs; All and json.Marshal", name: "case=marshal", limit: 0.65, most: 20},
		{title: "what metrics add: time, allocs; AppendJSON", name: "case=append", limit: 0.3, most: 4},
	}
	// Differences of medians: a difference of two figures of a single run
	// has more noise than metrics add.
	added := func(impl, name, unit string) float64 {
		return e.Median(name, impl, unit) - e.Median("case=noop", impl, unit)
	}
	for i := range rows {
		row := &rows[i]
		row.time = [2]float64{added("opa", "case=marshal", measure.Nanoseconds), added("regometer", row.name, measure.Nanoseconds)}
		row.allocs = [2]float64{added("opa", "case=marshal", measure.Allocations), added("regometer", row.name, measure.Allocations)}
	}
	return rows
}

// Targets of the instrumented decision.
const (
	instrumentedTime  = 0.55
	instrumentedBytes = 0.22
)

func (r report) writeEmbedded(b *strings.Builder) {
	e := r.parts["embedded"]
	b.WriteString("\n### A decision in a program that uses OPA as a library\n\n")
	b.WriteString("| case | OPA: time, bytes, allocs | the drop-in: time, bytes, allocs | time | bytes | target, at most | |\n|---|---|---|---|---|---|---|\n")
	for _, c := range []struct{ name, title string }{
		{"case=noop", "NoOp: no metrics"},
		{"case=marshal", "All and json.Marshal"},
		{"case=append", "AppendJSON (OPA: MarshalJSON)"},
		{"case=instrumented", "instrumented, All and json.Marshal"},
	} {
		l := compare(e, c.name)
		if c.name == "case=instrumented" {
			var missed []string
			if l.time.Median > instrumentedTime {
				missed = append(missed, "time")
			}
			if l.bytes.Median > instrumentedBytes {
				missed = append(missed, "bytes")
			}
			l.target = fmt.Sprintf("time %s, bytes %s", measure.Number(instrumentedTime), measure.Number(instrumentedBytes))
			l.verdict = verdictOf(missed)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", c.title, l.opa, l.ours, l.timeText(), l.bytesText(), l.target, l.verdict)
	}
	for _, a := range r.additions() {
		var missed []string
		ratio, text := a.time[1]/a.time[0], "less than the noise"
		switch {
		case a.time[0] <= 0 || a.time[1] <= 0:
			missed = append(missed, "time (not measurable)")
		case ratio > a.limit:
			missed = append(missed, "time")
			fallthrough
		default:
			text = measure.Number(ratio)
		}
		if a.allocs[1] > a.most {
			missed = append(missed, "allocs")
		}
		fmt.Fprintf(b, "| %s | %s, %.0f | %s, %.0f | %s |  | time %s, %.0f allocs | %s |\n",
			a.title, measure.Duration(a.time[0]), a.allocs[0], measure.Duration(a.time[1]), a.allocs[1],
			text, measure.Number(a.limit), a.most, verdictOf(missed))
	}
}

// serverFigures are the columns of the servers' tables.
var serverFigures = []struct {
	title, unit string
	text        func(float64) string
}{
	{"allocations", measure.Allocations, func(v float64) string { return fmt.Sprintf("%.0f", v) }},
	{"bytes", measure.Bytes, measure.Size},
	{"processor time", measure.CPUTime, measure.Duration},
	{"time until the next answer", measure.Nanoseconds, measure.Duration},
}

func (r report) writeServer(b *strings.Builder) {
	s := r.parts["server"]
	for _, mode := range measure.Modes {
		name := "case=" + mode.Name
		fmt.Fprintf(b, "\n### The server under load: `POST /v1/data/rbac/allow%s`\n\n|", mode.Query)
		for _, figure := range serverFigures {
			fmt.Fprintf(b, " | %s", figure.title)
		}
		b.WriteString(" | target | |\n|---" + strings.Repeat("|---", len(serverFigures)) + "|---|---|\n")
		for _, setup := range serverSetups {
			fmt.Fprintf(b, "| %s |", setup.title)
			for _, figure := range serverFigures {
				v := s.Median(name, setup.impl, figure.unit)
				switch {
				case v == 0: // not known on this system
					b.WriteString(" – |")
				case setup.impl == serverSetups[0].impl:
					fmt.Fprintf(b, " %s |", figure.text(v))
				default:
					fmt.Fprintf(b, " %s; %s |", figure.text(v), ratioText(s.Ratio(name, setup.impl, serverSetups[0].impl, figure.unit), setup.rival))
				}
			}
			target, verdict := setup.judge(s, name)
			fmt.Fprintf(b, " %s | %s |\n", target, verdict)
			if setup.beside == "" {
				continue
			}
			fmt.Fprintf(b, "| %s |", setup.besideTitle)
			for _, figure := range serverFigures {
				if s.Median(name, setup.impl, figure.unit) == 0 {
					b.WriteString(" – |")
					continue
				}
				fmt.Fprintf(b, " %s |", s.Ratio(name, setup.impl, setup.beside, figure.unit).Marked("more"))
			}
			b.WriteString("  |  |\n")
		}
	}
}

// ratioText writes a ratio, in bold if rival and it is a loss.
func ratioText(s measure.Spread, rival bool) string {
	if rival {
		return s.Marked("more")
	}
	return s.String()
}

// judge returns the server's target in words, and whether it is met.
func (setup serverSetup) judge(s measure.Results, name string) (target, verdict string) {
	if !setup.target {
		return "", ""
	}
	var missed []string
	for _, figure := range serverFigures[:2] {
		if !(s.Ratio(name, setup.impl, serverSetups[0].impl, figure.unit).Median < 1) {
			missed = append(missed, figure.title)
		}
	}
	return "allocations and bytes below unmodified OPA's, nothing on", verdictOf(missed)
}

// save writes the page, its plots and the raw figures.
func (r report) save(out string, raw map[string][]byte) error {
	files := map[string][]byte{"performance.md": []byte(r.page())}
	for part, text := range raw {
		files[filepath.Join("performance", part+".txt")] = text
	}
	if r.measured("metrics") {
		files[filepath.Join("performance", "ratios.svg")] = r.ratioPlot()
	}
	if r.measured("embedded") {
		files[filepath.Join("performance", "decision.svg")] = r.decisionPlot()
	}
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

// page is the text of docs/performance.md.
func (r report) page() string {
	var b strings.Builder
	b.WriteString(`# Performance

Regometer beside the metrics package of Open Policy Agent (OPA). This page is written by ` + "`make bench`" + ` and
` + "`make bench-report`" + ` from the figures in [performance/](performance), which are in the format of ` + "`go test -bench`" + `.

How to read it:

- A ratio is Regometer's figure divided by OPA's of the same run: 0.25 is four times as fast. It is the median of all runs.
  In brackets is the median's 99 % confidence interval, by the order of the runs' ratios, which assumes nothing of how they
  are distributed and needs eight runs; of ten it is the least and the greatest. Times, bytes and allocations are medians.
- A figure is bold, and called slower or more, if its whole interval is above 1. If 1 is within it, the runs do not tell
  which side is ahead. (99 % and not 95 %, since with a hundred ratios chance alone would make one or two bold.)
- The *floor* is the least that any implementation has to do for the case, measured in the same binary: reading the clock,
  one allocation, an atomic add, the copy of a finished output. "To floor" is Regometer's time divided by it.
- "OPA's 30 metrics" are the collection of OPA's BenchmarkMetricsMarshaling, a single one; where it is updated it has
  been 2,000 times before, so that its histograms are full (not yet full ones are among the other cases). What an
  AppendJSON row with updates allocates is the histograms' room for new values. Otherwise collections are taken in
  rotation of 16 where sorting matters, values are scattered and above 255, and histograms that are updated are kept at 100
  to 200 values on both sides.
- What metrics add to an embedded decision is its time less that without metrics (` + "`NoOp`" + `), AppendJSON's by what OPA's package
  adds with ` + "`json.Marshal`" + `.
- Each case has a test that both sides give the same output.

`)
	b.WriteString("| figures | date | machine | system | Go | OPA | command, in folder `bench` |\n|---|---|---|---|---|---|---|\n")
	for _, part := range allParts {
		if c := r.parts[part].Config; r.measured(part) {
			fmt.Fprintf(&b, "| %s | %s | %s, %s CPUs | %s/%s | %s | %s | `%s` |\n",
				part, c["date"], c["cpu"], c["cpus"], c["goos"], c["goarch"], c["go"], c["opa"], c["command"])
		}
	}
	for _, n := range r.noise() {
		fmt.Fprintf(&b, "\n**While the %s figures were taken, the machine was busy with other work: the same code took up to %s times as long\nin one run as in another. Their times say little; bytes and allocations hold.**\n", n.part, measure.Number(n.most))
	}
	if r.measured("metrics") {
		b.WriteString("\n## The package\n\n![Time of Regometer by OPA's, by case](performance/ratios.svg)\n")
		for _, group := range []string{bench.Targets, bench.Others} {
			r.writeGroup(&b, group)
		}
	}
	if r.measured("embedded") || r.measured("server") {
		b.WriteString("\n## Inside OPA\n\nThe same OPA, once as it is and once with its package `v1/metrics` replaced by the drop-in, in turns.\n")
	}
	if r.measured("embedded") {
		b.WriteString("\n![Time of a decision and of its metrics](performance/decision.svg)\n")
		r.writeEmbedded(&b)
	}
	if r.measured("server") {
		r.writeServer(&b)
		fmt.Fprintf(&b, serverNotes, measure.Connections)
	}
	if r.measured("stages") {
		b.WriteString("\n## Stages as histograms\n\nLatencies are log-normal around 200 µs; close ones have σ = 0.25. The other histograms take floating-point\nseconds, ours integers in nanoseconds; Prometheus and OpenTelemetry have the resolution and the limit of ours, VictoriaMetrics\n18 buckets for each power of ten. Two goroutines record into one histogram.\n")
		r.writeStages(&b)
	}
	if r.measured("report") {
		b.WriteString("\n## Decision logs\n" + r.logNotes())
		r.writeDecisionLogs(&b)
	}
	b.WriteString("\n## Running it yourself\n\n```\nmake bench                                           # all but decision logs, about 25 minutes\nmake bench-report                                    # decision logs, about 25 minutes\ncd bench\ngo test -run '^$' -bench 'Metrics/case=request$'     # one case\ngo run ./cmd/benchtable -parts metrics -case request # the same, several runs, as a table\nbenchstat -col /impl ../docs/performance/metrics.txt # golang.org/x/perf/cmd/benchstat\n```\n")
	return b.String()
}

// serverNotes follow the servers' tables.
const serverNotes = `
Figures are those of a request; after them stands the ratio to unmodified OPA with nothing on, of the same run. The second
server of that binary tells how much of a ratio is noise. All servers run on loopback with ` + "`--log-level error`" + ` and get the same
requests by %d clients, on the same machine, in turns: each run goes over all of them and begins with another one. What they
print goes to ` + "`/dev/null`" + `. Allocations and bytes are the servers' own, from ` + "`/metrics`" + `, less what reading that takes; processor time
is the system's count for each server.

The plugin is on by ` + "`plugins: {regometer: {}}`" + ` and gets each decision straight from the server. That it counted every one is
checked. As decision logger (` + "`decision_logs: {plugin: regometer}`" + `) it still does, and lets the log's events pass: what that
row has more is what the decision log takes in OPA itself, which builds the AST of each event and evaluates the drop and the
mask policy. In an OPA that ` + "`regometer build`" + ` did not make, decisions come to the plugin only that way, and fold there
("plugin: Log" below).
`

// noiseLimit is how much the time of the same code may vary between runs before
// the page warns of it.
const noiseLimit = 1.5

// A noise is by how much the time of the same code varied in a part.
type noise struct {
	part string
	most float64
}

// noise returns the parts in which code that does not depend on either side
// varied by more than noiseLimit: four clock readings, the decision without
// metrics, a request to OPA as it is, going over a map, encoding/json.
func (r report) noise() (found []noise) {
	for _, k := range []struct {
		part string
		key  measure.Key
	}{
		{"metrics", measure.Key{Name: "case=timer_restart/goroutines=1", Impl: "floor"}},
		{"embedded", measure.Key{Name: "case=noop", Impl: "opa"}},
		{"server", measure.Key{Name: "case=plain", Impl: serverSetups[0].impl}},
		{"stages", measure.Key{Name: "Add/form=map/goroutines=1", Impl: "map"}},
		{"report", measure.Key{Name: "case=ndjson_512", Impl: "encoding_json"}},
	} {
		samples := r.parts[k.part].Samples[k.key]
		var times []float64
		for _, s := range samples {
			times = append(times, s[measure.Nanoseconds])
		}
		if len(times) == 0 {
			continue
		}
		if least, most := slices.Min(times), slices.Max(times); least > 0 && most > noiseLimit*least {
			found = append(found, noise{k.part, most / least})
		}
	}
	return found
}
