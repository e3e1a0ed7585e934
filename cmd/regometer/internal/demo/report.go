// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/regometer/regometer/report"
)

// lineWidth is what the report keeps to.
const lineWidth = 96

// write writes the report, as JSON or as text. How that has the log's report,
// the options say.
func (r *result) write(w io.Writer, asJSON bool, table report.TableOptions) error {
	var err error
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(r)
	} else {
		_, err = w.Write(r.text(table))
	}
	return err
}

// keep writes the report into a folder in both forms.
func (r *result) keep(dir string) error {
	for name, asJSON := range map[string]bool{"report.txt": false, "report.json": true} {
		var b bytes.Buffer
		err := errors.Join(
			r.write(&b, asJSON, report.TableOptions{Width: lineWidth}),
			os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o666),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *result) text(table report.TableOptions) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "OPA %s with Regometer's metrics package and plugin: %s requests, one at a time (seed %d)\n",
		r.OPA, thousands(r.Requests), r.Seed)
	if r.Incomplete != "" {
		fmt.Fprint(&b, "\nThe run ended early. This is what had been measured until then.\n")
	}
	r.writeDecisions(&b)
	r.writeExamples(&b)
	r.writeStages(&b)
	r.writeScraped(&b)
	if r.Comparison != nil {
		r.writeComparison(&b)
	}
	fmt.Fprint(&b, `
What next
  regometer opa -- run --server ./policy   this OPA with your policy; all after -- is OPA's own
                       -c config.yaml      … with the plugin: see regometer build --help
  regometer build -o opa                   a binary to keep
  regometer verify                         OPA's own tests, with and without the drop-in
  regometer report FILE|FOLDER ...         where the time went, by decision logs of any OPA
`)
	r.writeLogReport(&b, table)
	return b.Bytes()
}

// logReportPaths is how many paths the log's report shows.
const logReportPaths = 2

// writeLogReport shows what an operator without plugin and drop-in has.
func (r *result) writeLogReport(b *bytes.Buffer, table report.TableOptions) {
	fmt.Fprintf(b, `
The report of this server's own decision log
  As regometer report --top %d %s prints it: from the log alone, so
  that regometer report FILE does the same with your own, of any OPA. To look
  into this log, have it kept: regometer demo --keep FOLDER.
`, logReportPaths, dropInLogFile)
	if r.Compared > 0 && len(r.Differences) == 0 {
		fmt.Fprintf(b, `  It agrees with what the plugin exported of the same decisions: %s figures are
  equal, times to the nanosecond. They are the decisions by path and outcome,
  errors by code, counters, each stage's count, sum, self time and unfinished
  timers, and count and sum by path of the stages that /metrics has by path.
  Paths without rules, and what instrumented requests add, are "other" there and
  were compared so.
`, thousands(r.Compared))
	}
	fmt.Fprintln(b)
	table.Top = logReportPaths
	_ = report.WriteTable(b, r.log, table) // cannot fail: b does not
}

var outcomeNotes = map[outcome]string{
	undefined: "no such document, no rule applies, or no answer to a query",
	failed:    "a built-in function failed, with strict-builtin-errors",
	unjudged:  "neither yes nor no: a list, a token's claims, bindings",
	malformed: "a broken body: HTTP status 400, which OPA never logs",
}

func (r *result) writeDecisions(b *bytes.Buffer) {
	rows := [][]string{{"Decisions by outcome", "sent", "logged", ""}}
	var sent, logged int
	for _, d := range r.Decisions {
		inLog := thousands(d.Logged)
		if d.Outcome == malformed && d.Logged == 0 {
			inLog = "–"
		}
		rows = append(rows, []string{"  " + string(d.Outcome), thousands(d.Sent), inLog, outcomeNotes[d.Outcome]})
		sent += d.Sent
		logged += d.Logged
	}
	rows = append(rows, []string{"  total", thousands(sent), thousands(logged), ""})
	fmt.Fprintln(b)
	writeTable(b, "lrrl", rows)
	switch err := r.consistent(); {
	case r.Incomplete != "":
	case err != nil:
		fmt.Fprintf(b, "  Not as it must be: %v\n", err)
	default:
		fmt.Fprintln(b, "  Every answer was the expected one, and the decision log agrees with what was sent.")
		fmt.Fprintln(b, "  /metrics agrees with the decision log, within the error of its histograms.")
	}
}

func (r *result) writeExamples(b *bytes.Buffer) {
	if r.Metrics != nil {
		fmt.Fprint(b, "\nOne decision's own metrics (POST /v1/data/rbac/allow?metrics=true), times in nanoseconds\n  ")
		_ = json.Indent(b, r.Metrics, "  ", "  ") // cannot fail: it was decoded as JSON
		fmt.Fprintln(b)
	}
	var metrics map[string]json.RawMessage
	if json.Unmarshal(r.Instrumented, &metrics) != nil {
		return
	}
	fmt.Fprint(b, "\nAn instrumented one's (POST /v1/data/rbac/decision?instrument=true), long lines cut\n  {\n")
	keys := make([]string, 0, len(metrics))
	for key := range metrics {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for i, key := range keys {
		comma := ","
		if i == len(keys)-1 {
			comma = ""
		}
		fmt.Fprintln(b, cut(fmt.Sprintf("    %q: %s%s", key, metrics[key], comma)))
	}
	fmt.Fprintln(b, "  }")
}

func (r *result) writeStages(b *bytes.Buffer) {
	rows := [][]string{{"Stages, from the decision log", "p50", "p95", "p99", "max", "count", "unfinished"}}
	unfinished := false
	for _, s := range r.Stages {
		row := []string{strings.Repeat("  ", s.Depth+1) + s.Name, "–", "–", "–", "–", thousands(s.Count), ""}
		if s.Count > 0 {
			row[1], row[2], row[3], row[4] = duration(s.P50), duration(s.P95), duration(s.P99), duration(s.Max)
		}
		if s.Unfinished > 0 {
			row[6] = thousands(s.Unfinished)
			unfinished = true
		}
		rows = append(rows, row)
	}
	if len(r.Stages) == 0 {
		return
	}
	fmt.Fprintln(b)
	writeTable(b, "lrrrrrr", rows)
	fmt.Fprint(b, `  A stage lies within the one that it is indented under. Percentiles are by nearest rank, over
  the decisions that have the stage; only instrumented ones have eval_op_….
`)
	if unfinished {
		fmt.Fprint(b, `  Unfinished: logged as 0, because OPA wrote the event before it stopped the timer (POST
  /v1/query does so), or because the clock is coarse. They are not in the percentiles.
`)
	}
}

// writeScraped shows what an operator sees in Prometheus of the same stages.
func (r *result) writeScraped(b *bytes.Buffer) {
	rows := [][]string{{"The same, from /metrics", "p50", "off by", "p95", "off by", "p99", "off by", "count"}}
	bound := 0.0
	for _, s := range r.Stages {
		if s.Scraped == nil {
			continue
		}
		row := []string{strings.Repeat("  ", s.Depth+1) + s.Name}
		for _, p := range s.percentiles() {
			row = append(row, duration(int64(math.Round(p.scraped))), fmt.Sprintf("%+.2f%%", 100*p.difference()))
		}
		rows = append(rows, append(row, thousands(int(s.Scraped.Count))))
		bound = max(bound, s.Scraped.Bound)
	}
	if len(rows) == 1 {
		return
	}
	fmt.Fprintln(b)
	writeTable(b, "lrrrrrrr", rows)
	fmt.Fprintf(b, `  What Prometheus gets: native histograms that the plugin filled straight from the server, over
  all paths, in %s{stage}. A percentile is the middle of
  its bucket, so that it is off by %.2f%% at most; the counts are exact. Timers of instrumented
  requests alone share the stage "other".
`, stageMetric, 100*bound)
}

func (r *result) writeComparison(b *bytes.Buffer) {
	c := r.Comparison
	labels := map[string]string{
		"handler_time": "  time in the HTTP handler", "busy_time": "  scheduler busy",
		"allocated_bytes": "  allocated bytes", "allocations": "  allocations",
	}
	rows := [][]string{{"Per decision, same requests", "unmodified", "drop-in", "ratio", "by round"}}
	for _, f := range c.PerDecision {
		show := func(n number) string {
			switch {
			case math.IsNaN(float64(n)):
				return "n/a"
			case f.Unit == "s":
				return duration(int64(math.Round(float64(n) * 1e9)))
			default:
				return strings.TrimSpace(thousands(int(math.Round(float64(n)))) + " " + f.Unit)
			}
		}
		ratio, spread := "n/a", ""
		if !math.IsNaN(float64(f.Ratio)) {
			ratio = fmt.Sprintf("%.2f", f.Ratio)
			spread = fmt.Sprintf("%.2f to %.2f", f.RatioMin, f.RatioMax)
		}
		rows = append(rows, []string{labels[f.Name], show(f.Unmodified), show(f.DropIn), ratio, spread})
	}
	fmt.Fprintln(b)
	writeTable(b, "lrrrr", rows)
	fmt.Fprintf(b, `  Medians of %d rounds of %s decisions a side; the sides take turns every %d requests. The
  ratio is drop-in to unmodified: below 1 the drop-in is ahead. All that the server does for a
  decision is in it: HTTP, JSON, the policy, the decision log, which both write. The plugin is
  on the drop-in's side alone: the unmodified OPA has nothing like it. From each server's
  /metrics before and after: http_request_duration_seconds; go_cpu_classes_total less _idle (all
  that Go counts as busy, waiting for a core and garbage collection too);
  go_memstats_alloc_bytes_total; go_memstats_mallocs_total.
`, c.Rounds, thousands(c.DecisionsPerRound), blockSize)
}

// duration writes nanoseconds with three digits and a unit.
func duration(ns int64) string {
	value, unit := float64(ns), "ns"
	for _, next := range []string{"µs", "ms", "s"} {
		if math.Abs(value) < 999.5 {
			break
		}
		value, unit = value/1000, next
	}
	digits := 0
	if unit != "ns" {
		switch v := math.Abs(value); {
		case v < 9.995:
			digits = 2
		case v < 99.95:
			digits = 1
		}
	}
	return strconv.FormatFloat(value, 'f', digits, 64) + " " + unit
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// cut shortens a line to lineWidth.
func cut(line string) string {
	runes := []rune(line)
	if len(runes) <= lineWidth {
		return line
	}
	return string(runes[:lineWidth-1]) + "…"
}

// writeTable writes rows in columns that are aligned to the left (l) or right
// (r).
func writeTable(b *bytes.Buffer, align string, rows [][]string) {
	widths := make([]int, len(align))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if align[i] == 'r' {
				line.WriteString(padding + cell)
			} else {
				line.WriteString(cell + padding)
			}
		}
		fmt.Fprintln(b, strings.TrimRight(line.String(), " "))
	}
}
