// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
)

// decisionLogs measures `regometer report` by the command reportbench. All
// programs are built in the workspace, so that they have the same libraries.
func (m *measurer) decisionLogs(ctx context.Context) ([]byte, error) {
	m.progress.Printf("report: building the programs")
	bin := filepath.Join(m.work, "bin")
	workspace := []string{"GOWORK=" + filepath.Join(m.Root, "go.work")}
	if _, err := measure.CommandWith(ctx, workspace, m.Root, "go", "build", "-trimpath", "-o", bin+string(filepath.Separator),
		"./cmd/regometer", "./bench/cmd/plainreport", "./bench/cmd/decompress", "./bench/cmd/reportbench"); err != nil {
		return nil, err
	}
	if _, err := measure.CommandWith(ctx, workspace, m.Root, "go", "build", "-trimpath", "-tags", "purego",
		"-o", filepath.Join(bin, "purego")+string(filepath.Separator), "./cmd/regometer"); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "reportbench"),
		"-bin", bin, "-work", m.work, "-runs", strconv.Itoa(m.runs), "-size", strconv.Itoa(m.size))
	var lines bytes.Buffer
	cmd.Stdout, cmd.Stderr = &lines, m.progress.W
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends what it has started
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("reportbench: %w", err)
	}
	return lines.Bytes(), nil
}

// The units of the part report beside the time.
const (
	throughput = "MB/s"  // by the bytes of the file that is read
	memory     = "max-B" // the most that was resident
)

// logRows are the rows of the table of throughput.
var logRows = []struct{ title, name string }{
	{"0.5 KB a decision", "case=ndjson_512"},
	{"8 KB a decision", "case=ndjson_8k"},
	{"0.5 KB a decision, spaced by json.dumps", "case=spaced"},
	{"0.5 KB a decision, indented by json.Indent", "case=pretty"},
	{"0.5 KB a decision, in docker's json-file; DuckDB without that", "case=docker"},
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
	{"0.5 KB a decision", "case=ndjson_512"},
	{"8 KB a decision", "case=ndjson_8k"},
	{"spaced by json.dumps", "case=spaced"},
	{"indented by json.Indent", "case=pretty"},
	{"docker's json-file", "case=docker"},
	{"gzip", "case=gzip"},
	{"zstd", "case=zstd"},
}

// A logTarget is a ratio with a target.
type logTarget struct {
	title, name       string
	impl, other, unit string // whose figure is divided by whose
	limit             float64
	atMost            bool // and not at least
}

var logTargets = []logTarget{
	{"0.5 KB a decision: throughput by DuckDB's", "case=ndjson_512", "regometer_all", "duckdb_all", throughput, 3, false},
	{"8 KB a decision: throughput by DuckDB's", "case=ndjson_8k", "regometer_all", "duckdb_all", throughput, 8, false},
	{"0.5 KB a decision: throughput by that of 1 worker", "case=ndjson_512", "regometer_all", "regometer_one", throughput, 1.7, false},
	{"8 KB a decision: throughput by that of 1 worker", "case=ndjson_8k", "regometer_all", "regometer_one", throughput, 1.7, false},
	{"docker's json-file: DuckDB's time on the unwrapped log by ours", "case=docker", "duckdb_all", "regometer_all", measure.Nanoseconds, 1, false},
	{"… throughput by DuckDB's, each by the bytes of its own file", "case=docker", "regometer_all", "duckdb_all", throughput, 1, false},
	{"gzip: time by that of decompression alone", "case=gzip", "regometer_all", "library", measure.Nanoseconds, 1.3, true},
	{"zstd: time by that of decompression alone", "case=zstd", "regometer_all", "library", measure.Nanoseconds, 1.3, true},
}

// memoryLimit is the target for what is resident, in bytes.
const memoryLimit = 128e6

// judge returns the ratio, the target in words, and whether it is met.
func (t logTarget) judge(s measure.Results) (ratio, target, verdict string) {
	spread := s.Ratio(t.name, t.impl, t.other, t.unit)
	met := spread.Median >= t.limit
	target = "at least " + measure.Number(t.limit)
	if t.atMost {
		met = spread.Median <= t.limit
		target = "at most " + measure.Number(t.limit)
	}
	switch {
	case spread.Median == 0:
		return "–", target, "not measured"
	case met:
		return spread.String(), target, "met"
	default:
		return spread.String(), target, "**missed**"
	}
}

// writeDecisionLogs writes the tables of the part report.
func (r report) writeDecisionLogs(b *strings.Builder) {
	s := r.parts["report"]
	b.WriteString("\n### Throughput\n\n| a log of |")
	for _, side := range logSides {
		fmt.Fprintf(b, " %s |", side.title)
	}
	b.WriteString(" by DuckDB's |\n|---" + strings.Repeat("|---", len(logSides)+1) + "|\n")
	for _, row := range logRows {
		fmt.Fprintf(b, "| %s |", row.title)
		for _, side := range logSides {
			fmt.Fprintf(b, " %s |", rateText(s.Median(row.name, side.impl, throughput)))
		}
		fmt.Fprintf(b, " %s |\n", timesText(s.Ratio(row.name, "regometer_all", "duckdb_all", throughput)))
	}

	b.WriteString("\n### Compressed logs\n\n| 0.5 KB a decision | regometer | decompression alone | time |\n|---|---|---|---|\n")
	for _, name := range []string{"gzip", "zstd"} {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name,
			rateText(s.Median("case="+name, "regometer_all", throughput)), rateText(s.Median("case="+name, "library", throughput)),
			s.Ratio("case="+name, "regometer_all", "library", measure.Nanoseconds).Marked("slower"))
	}

	b.WriteString("\n### The most memory resident\n\n| a log of | regometer | … of a quarter of the size | DuckDB | encoding/json |\n|---|---|---|---|---|\n")
	for _, row := range memoryRows {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", row.title,
			memoryText(s.Median(row.name, "regometer_all", memory)), memoryText(s.Median(row.name+"_quarter", "regometer_all", memory)),
			memoryText(s.Median(row.name, "duckdb_all", memory)), memoryText(s.Median(row.name, "encoding_json", memory)))
	}

	b.WriteString("\n### Targets of `regometer report`\n\n| | | target | |\n|---|---|---|---|\n")
	for _, t := range logTargets {
		ratio, target, verdict := t.judge(s)
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", t.title, ratio, target, verdict)
	}
	most := mostMemory(s)
	verdict := "met"
	switch {
	case most == 0:
		verdict = "not measured"
	case most > memoryLimit:
		verdict = "**missed**"
	}
	fmt.Fprintf(b, "| the most memory of any run | %s | at most %s | %s |\n", memoryText(most), memoryText(memoryLimit), verdict)
}

// mostMemory is what `regometer report` had resident at most, in any run.
func mostMemory(s measure.Results) (most float64) {
	for key, samples := range s.Samples {
		if strings.HasPrefix(key.Impl, "regometer") {
			for _, sample := range samples {
				most = max(most, sample[memory])
			}
		}
	}
	return most
}

// rateText writes a throughput, given in MB/s.
func rateText(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v < 1000:
		return fmt.Sprintf("%.0f MB/s", v)
	default:
		return fmt.Sprintf("%.2f GB/s", v/1e3)
	}
}

// memoryText writes bytes.
func memoryText(v float64) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f MB", v/1e6)
}

// timesText writes by how much something is faster, in bold if it is slower:
// if the whole interval is below 1.
func timesText(s measure.Spread) string {
	switch {
	case s.Median == 0:
		return "–"
	case s.High < 1 && !math.IsInf(s.Low, -1):
		return "**" + s.String() + " slower**"
	default:
		return s.String()
	}
}

// logNotes are said of the part report, with what its figures say of how they
// were taken.
const logNotes = `
` + "`regometer report --format json`" + `, findings included, beside other programs on the same log, in the page cache. Each is a process
of its own, and its time is that from start to exit. They run by turns. All answers are checked: p50, p90, p99 and p99.9 of
four stages of each path, to be the exact ones that the program which wrote the log knows; ours within 1.1 %%. Here a higher
ratio is better, but for compressed logs, whose ratio is one of times.

- Throughput is by the bytes of the file that is read, MB being 1,000,000 bytes; docker's and compressed files are counted
  as they are, so that a ratio of times is what compares them.
- ` + "`--workers`" + ` and ` + "`SET threads`" + ` are as many as there are processors, or 1.
- The indented log is that of OPA's ` + "`--log-format json-pretty`" + `. The other programs are asked for a decision a line.
- DuckDB: %s. It is asked, in a process for each question, with THREADS and FILE replaced:

  ` + "```sql\n  %s\n  ```" + `

- jq: %s. ` + "`jq -c '%s'`" + ` reads the first twentieth of the log, and merely prints two fields.
- encoding/json: [a plain program](../bench/cmd/plainreport/main.go) that reads only the fields that are needed, and sorts.
- [Decompression alone](../bench/cmd/decompress/main.go) is by %s, with the settings that the report uses.
- "Portable" is regometer built with ` + "`-tags purego`" + `: the code for processors other than amd64. What else there is of it
  is used where the processor has AVX2, and all of it with AVX-512.
- Memory is what the system counts for the process: mapped files too.
`

// breakSQL begins new lines in what DuckDB is asked, as the page has it.
var breakSQL = strings.NewReplacer("; ", ";\n  ", ", quantile_disc", ",\n    quantile_disc", " FROM ", "\n  FROM ", ", columns", ",\n    columns",
	"STRUCT(", "STRUCT(\n    ", " GROUP BY", "\n  GROUP BY")

// logNotes are those of these figures.
func (r report) logNotes() string {
	c := r.parts["report"].Config
	return fmt.Sprintf(logNotes, c["duckdb"], breakSQL.Replace(c["sql"]), c["jq"], c["jqfilter"], c["compress"])
}
