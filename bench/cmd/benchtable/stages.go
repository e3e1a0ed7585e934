// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/regometer/regometer/bench/internal/measure"
)

// stagePackages hold the benchmarks of the way from a decision to a scrape.
var stagePackages = []string{
	benchModule + "/exphist", benchModule + "/rollup", benchModule + "/plugin", measure.RootModule + "/prom",
}

// stages runs their binaries several times, in turns.
func (m *measurer) stages(ctx context.Context) ([]byte, error) {
	m.progress.Printf("stages: building the benchmarks")
	binaries := make([]string, len(stagePackages))
	for i, pkg := range stagePackages {
		binaries[i] = filepath.Join(m.work, strings.ReplaceAll(strings.TrimPrefix(pkg, measure.RootModule+"/"), "/", "-")+".test")
		if _, err := measure.Command(ctx, m.Bench, "go", "test", "-c", "-trimpath", "-o", binaries[i], pkg); err != nil {
			return nil, err
		}
	}
	var lines []byte
	for i := range m.runs {
		m.progress.Printf("stages: run %d of %d", i+1, m.runs)
		for _, binary := range binaries {
			out, err := measure.Command(ctx, m.Bench, binary, "-test.run=^$", "-test.bench=.", "-test.benchtime="+m.benchtime)
			if err != nil {
				return nil, err
			}
			lines = append(lines, out...)
		}
	}
	return lines, nil
}

// A peerRow is a line of the table of histograms.
type peerRow struct{ title, name, unit string }

var peers = []struct{ impl, title string }{
	{"regometer", "exphist"},
	{"prometheus", "Prometheus, native"},
	{"victoriametrics", "VictoriaMetrics"},
	{"opentelemetry", "OpenTelemetry, exponential"},
	{"floor", "one atomic add"},
}

var peerRows = []peerRow{
	{"record, close values, 1 goroutine", "Record/sigma=0.25/goroutines=1", measure.Nanoseconds},
	{"record, close values, 2 goroutines", "Record/sigma=0.25/goroutines=2", measure.Nanoseconds},
	{"record, 1 goroutine", "Record/sigma=1/goroutines=1", measure.Nanoseconds},
	{"record, 2 goroutines", "Record/sigma=1/goroutines=2", measure.Nanoseconds},
	{"read all of it for export", "Read/sigma=1", measure.Nanoseconds},
	{"memory after 10,000 close values", "Memory/sigma=0.25", histogramMemory},
	{"memory after 10,000 values, σ = 0.5", "Memory/sigma=0.5", histogramMemory},
	{"memory after 10,000 values, σ = 1", "Memory/sigma=1", histogramMemory},
	{"memory after 10,000 values, σ = 1.5", "Memory/sigma=1.5", histogramMemory},
}

// histogramMemory is the unit of what a histogram takes.
const histogramMemory = "B/histogram"

// A stageRow is a line of the table of what Regometer does with a decision.
type stageRow struct {
	title, name, impl string
	time              float64 // ns, at most; 0 for no target
	noAllocs          bool    // whether none is the target
}

var stageRows = []stageRow{
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

func (r report) writeStages(b *strings.Builder) {
	s := r.parts["stages"]
	b.WriteString("\n### A histogram beside its peers\n\n| |")
	for _, p := range peers {
		fmt.Fprintf(b, " %s |", p.title)
	}
	b.WriteString("\n|---" + strings.Repeat("|---", len(peers)) + "|\n")
	for _, row := range peerRows {
		fmt.Fprintf(b, "| %s |", row.title)
		for _, p := range peers {
			switch {
			case !s.Has(row.name, p.impl):
				b.WriteString(" – |")
			case row.unit == histogramMemory:
				fmt.Fprintf(b, " %s |", measure.Size(s.Median(row.name, p.impl, histogramMemory)))
			default:
				fmt.Fprintf(b, " %s |", measure.Duration(s.Median(row.name, p.impl, measure.Nanoseconds)))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\n### From a decision to a scrape\n\n| | time | bytes | allocations | target, at most | |\n|---|---|---|---|---|---|\n")
	for _, row := range stageRows {
		if !s.Has(row.name, row.impl) {
			continue
		}
		target, verdict := row.judge(s)
		fmt.Fprintf(b, "| %s | %s | %s | %.0f | %s | %s |\n", row.title, measure.Duration(s.Median(row.name, row.impl, measure.Nanoseconds)),
			measure.Size(s.Median(row.name, row.impl, measure.Bytes)), s.Median(row.name, row.impl, measure.Allocations), target, verdict)
	}
}

// judge returns the row's target in words, and whether it is met.
func (row stageRow) judge(s measure.Results) (target, verdict string) {
	var wants, missed []string
	if row.time > 0 {
		wants = append(wants, measure.Duration(row.time))
		if s.Median(row.name, row.impl, measure.Nanoseconds) > row.time {
			missed = append(missed, "time")
		}
	}
	if row.noAllocs {
		wants = append(wants, "0 allocations")
		if s.Median(row.name, row.impl, measure.Allocations) > 0 {
			missed = append(missed, "allocations")
		}
	}
	if len(wants) == 0 {
		return "", ""
	}
	return strings.Join(wants, ", "), verdictOf(missed)
}
