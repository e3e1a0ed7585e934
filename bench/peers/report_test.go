// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// duckDB is the fastest query that was found for the figures of a report: five
// quantiles, the maximum and the sum of all timers of each path.
//
//go:embed duckdb.sql
var duckDB string

// BenchmarkReport reads decision logs from the page cache with `regometer
// report`, whose program REGOMETER_BENCH_COMMAND names, and with DuckDB, if
// there is one. A log has 1,000 MB.
func BenchmarkReport(b *testing.B) {
	regometer := os.Getenv("REGOMETER_BENCH_COMMAND")
	if regometer == "" {
		b.Skip("REGOMETER_BENCH_COMMAND names no program")
	}
	duckdb := os.Getenv("REGOMETER_DUCKDB")
	if duckdb == "" {
		duckdb, _ = exec.LookPath("duckdb")
	}
	size := "1000MB"
	if testing.Short() {
		size = "2MB"
	}
	for _, log := range []struct {
		name, form, eventSize string
		duckdb                bool // whether DuckDB reads it, by a query for lines of JSON
	}{
		{"small", "ndjson", "670", true},
		{"large", "ndjson", "8KB", true},
		{"docker", "docker", "670", false},
		{"zstd", "ndjson", "670", false},
	} {
		b.Run("log="+log.name, func(b *testing.B) {
			file := b.TempDir() + "/decisions.log"
			script := `"$0" sample --size "$1" --form "$2" --event-size "$3" > "$4"`
			if log.name == "zstd" {
				script = strings.Replace(script, ">", "| zstd -q >", 1)
			}
			if text, err := exec.Command("sh", "-c", script, regometer, size, log.form, log.eventSize, file).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, text)
			}
			report := []string{regometer, "report", "--format", "json", file}
			var want answer
			benchmarkProgram(b, "regometer", file, report, func(b *testing.B, out []byte) { want = ofReport(b, out) })
			benchmarkProgram(b, "regometer_one", file, append([]string{"env", "GOMAXPROCS=1"}, report...), func(b *testing.B, out []byte) { compare(b, ofReport(b, out), want, 0) })
			if log.duckdb && duckdb != "" {
				query := strings.NewReplacer("{threads}", strconv.Itoa(runtime.NumCPU()), "{file}", file).Replace(duckDB)
				benchmarkProgram(b, "duckdb", file, []string{duckdb, "-json", "-c", query},
					func(b *testing.B, out []byte) { compare(b, ofDuckDB(b, out), want, 0.011) })
			}
		})
	}
}

// benchmarkProgram measures a program that reads a file, from start to exit.
// For a process, Linux also counts the memory that was resident in its parent
// when the process started.
func benchmarkProgram(b *testing.B, impl, file string, command []string, check func(b *testing.B, stdout []byte)) {
	b.Run("impl="+impl, func(b *testing.B) {
		info, err := os.Stat(file)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(info.Size())
		for b.Loop() {
			cmd := exec.Command(command[0], command[1:]...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil {
				b.Fatalf("%v: %s", err, &stderr)
			}
			b.StopTimer()
			check(b, stdout.Bytes())
			b.ReportMetric(1024*float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss), "max-B")
			b.StartTimer()
		}
	})
}

// An answer has p50, p90, p95, p99, p99.9, the maximum and the sum of the
// durations of each path and timer.
type answer map[string][7]int64

// compare fails unless all figures are right within a bound.
func compare(b *testing.B, got, want answer, bound float64) {
	if len(got) != len(want) || len(want) == 0 {
		b.Fatalf("%d paths and timers, want %d", len(got), len(want))
	}
	for name, figures := range want {
		for i, figure := range figures {
			if math.Abs(float64(got[name][i]-figure)) > bound*float64(figure)+math.Ceil(bound) { // quantiles are whole ns
				b.Fatalf("%s: %v, want %v", name, got[name], figures)
			}
		}
	}
}

// ofReport returns the answer of a report.
func ofReport(b *testing.B, text []byte) answer {
	var report struct {
		Groups []struct {
			Path   string
			Stages map[string]struct {
				Count int64
				P50   int64 `json:"p50_ns"`
				P90   int64 `json:"p90_ns"`
				P95   int64 `json:"p95_ns"`
				P99   int64 `json:"p99_ns"`
				P999  int64 `json:"p999_ns"`
				Max   int64 `json:"max_ns"`
				Sum   int64 `json:"sum_ns"`
			}
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		b.Fatal(err)
	}
	a := answer{}
	for _, g := range report.Groups {
		for stage, s := range g.Stages {
			if s.Count > 0 {
				a[g.Path+" "+stage] = [7]int64{s.P50, s.P90, s.P95, s.P99, s.P999, s.Max, s.Sum}
			}
		}
	}
	return a
}

// ofDuckDB returns the answer of a table with a row for each path. The row of
// queries has no path.
func ofDuckDB(b *testing.B, text []byte) answer {
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(text, &rows); err != nil {
		b.Fatal(err)
	}
	a := answer{}
	for _, row := range rows {
		path := "(query)"
		if err := json.Unmarshal(row["path"], &path); err != nil {
			b.Fatal(err)
		}
		delete(row, "path")
		for stage, text := range row {
			var s struct{ Quantiles, Sum json.RawMessage }
			var figures [7]int64
			err := json.Unmarshal(text, &s)
			if err == nil && string(s.Quantiles) != "null" {
				quantiles := figures[:6]
				if err = json.Unmarshal(s.Quantiles, &quantiles); err == nil {
					err = json.Unmarshal(s.Sum, &figures[6])
				}
				a[path+" "+stage] = figures
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	return a
}
