// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
)

// duckDB is the fastest query that was found for the figures of a report: five
// quantiles, the maximum and the sum of all timers of each path.
//
//go:embed duckdb.sql
var duckDB string

// A logCase is a kind of log: its title, and the flags of `regometer sample`.
type logCase struct{ name, title, form, compress, eventSize string }

var logCases = []logCase{
	{"ndjson", "0.67 KB a decision", "ndjson", "none", "670"},
	{"ndjson_8k", "8 KB a decision", "ndjson", "none", "8KB"},
	{"spaced", "spaced by json.dumps", "spaced", "none", "670"},
	{"pretty", "indented by json.Indent", "pretty-lines", "none", "670"},
	{"docker", "docker's json-file", "docker", "none", "670"},
	{"gzip", "gzip", "ndjson", "gzip", "670"},
	{"zstd", "zstd", "ndjson", "zstd", "670"},
	{"one", "one decision: the process alone", "ndjson", "none", "670"},
}

// A logFile is a log that was written.
type logFile struct {
	name  string
	bytes int64
	truth truth
}

// A logSide is a command that is measured.
type logSide struct {
	impl    string
	log     logFile // what the command reads
	command []string
	check   func(stdout io.Reader, of truth) error
}

// A logBench measures `regometer report` beside DuckDB, on logs that
// it writes.
type logBench struct {
	*measurer
	bin    string       // the folder of our programs
	duckdb string       // the program, or ""
	lines  bytes.Buffer // in the format of go test -bench
}

// decisionLogs measures the part report.
func (m *measurer) decisionLogs(ctx context.Context) ([]byte, error) {
	b := &logBench{measurer: m, bin: filepath.Join(m.work, "bin")}
	m.progress.Printf("report: building the programs")
	for _, args := range [][]string{
		{"-o", b.bin + string(filepath.Separator), "./cmd/regometer"},
		{"-tags", "purego", "-o", filepath.Join(b.bin, "purego") + string(filepath.Separator), "./cmd/regometer"},
	} {
		if _, err := measure.CommandWith(ctx, []string{"GOWORK=" + filepath.Join(m.Root, "go.work")}, m.Root, "go", append([]string{"build"}, args...)...); err != nil {
			return nil, err
		}
	}
	if err := b.findDuckDB(ctx); err != nil {
		return nil, err
	}
	for _, c := range logCases {
		if !m.selects(c.name) {
			continue
		}
		if err := b.measure(ctx, c); err != nil {
			return nil, fmt.Errorf("case=%s: %w", c.name, err)
		}
	}
	return b.lines.Bytes(), nil
}

// findDuckDB finds DuckDB, and writes its version as a line of configuration.
func (b *logBench) findDuckDB(ctx context.Context) error {
	b.duckdb = os.Getenv("REGOMETER_DUCKDB")
	if b.duckdb == "" {
		b.duckdb, _ = exec.LookPath("duckdb")
	}
	version := "none"
	if b.duckdb != "" {
		out, err := exec.CommandContext(ctx, b.duckdb, "--version").Output()
		if err != nil {
			return fmt.Errorf("%s --version: %w", b.duckdb, err)
		}
		version = strings.TrimSpace(string(out))
	} else {
		b.progress.Printf("report: skipped duckdb: it is not in PATH")
	}
	fmt.Fprintf(&b.lines, "duckdb: %s\n", version)
	return nil
}

// measure writes the logs of a case, measures all sides in turns, and removes
// the logs. Each run begins with another side.
func (b *logBench) measure(ctx context.Context, c logCase) (err error) {
	folder, err := os.MkdirTemp(b.work, c.name+"-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	sides, err := b.sides(ctx, c, folder)
	if err != nil {
		return err
	}
	for i := range b.runs {
		b.progress.Printf("report: %s: run %d of %d", c.name, i+1, b.runs)
		for j := range sides {
			s := sides[(i+j)%len(sides)]
			if err := b.turn(ctx, c.name, s); err != nil {
				return fmt.Errorf("impl=%s: %w", s.impl, err)
			}
		}
	}
	return nil
}

// turn runs a side once, checks its answer, and adds its figures.
func (b *logBench) turn(ctx context.Context, logCase string, s logSide) error {
	stdout, err := os.Create(filepath.Join(b.work, "stdout"))
	if err != nil {
		return err
	}
	defer stdout.Close()
	time, memory, err := execute(ctx, stdout, s.command...)
	if err != nil {
		return err
	}
	if _, err := stdout.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := s.check(stdout, s.log.truth); err != nil {
		return err
	}
	fmt.Fprintf(&b.lines, "BenchmarkReport/case=%s/impl=%s 1 %d ns/op %.4g MB/s %d max-B\n",
		logCase, s.impl, time.Nanoseconds(), float64(s.log.bytes)/1e6/time.Seconds(), memory)
	return nil
}

// execute runs a command that prints to stdout, which is a file or nil. It
// returns the time from start to exit, and the most memory that was resident.
//
// For a process, Linux also counts the memory that was resident in its parent
// when the process started. So this process must not have held anything large
// before.
func execute(ctx context.Context, stdout io.Writer, command ...string) (time.Duration, int64, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	passed := time.Since(start)
	if err != nil {
		return 0, 0, fmt.Errorf("%q: %w\n%s", command, err, &stderr)
	}
	resident := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	if runtime.GOOS != "darwin" {
		resident *= 1024
	}
	return passed, resident, nil
}

// sides writes a case's logs into a folder and returns the commands that read
// them.
func (b *logBench) sides(ctx context.Context, c logCase, folder string) (sides []logSide, failed error) {
	sample := func(form, amount string, n int64) logFile {
		log, err := b.sample(ctx, c, form, folder, amount, n)
		failed = errors.Join(failed, err)
		return log
	}
	add := func(impl string, log logFile, check func(io.Reader, truth) error, command ...string) {
		sides = append(sides, logSide{impl, log, command, check})
	}
	addReport := func(impl, program string, log logFile, args ...string) {
		add(impl, log, checkReport, append([]string{filepath.Join(b.bin, program), "report", "--format", "json", log.name}, args...)...)
	}
	addDuckDB := func(impl string, threads int, log logFile) {
		if b.duckdb != "" {
			sql := strings.NewReplacer("{threads}", strconv.Itoa(threads), "{file}", log.name).Replace(duckDB)
			add(impl, log, checkRows, b.duckdb, "-json", "-c", sql)
		}
	}
	if c.name == "one" {
		addReport("regometer", "regometer", sample(c.form, "--decisions", 1))
		return sides, failed
	}
	log := sample(c.form, "--size", int64(b.size)*1e6)
	addReport("regometer", "regometer", log)
	if c.compress != "none" {
		return sides, failed
	}
	addReport("regometer_portable", filepath.Join("purego", "regometer"), log)
	if c.form == "docker" { // DuckDB reads the lines without what docker adds
		bare := sample("console", "--decisions", log.truth.decisions)
		bare.truth = log.truth
		addDuckDB("duckdb", runtime.NumCPU(), bare)
		return sides, failed
	}
	addReport("regometer_one", "regometer", log, "--workers", "1")
	add("regometer_stdin", log, checkReport, "sh", "-c", `exec "$0" report --format json - <"$1"`, filepath.Join(b.bin, "regometer"), log.name)
	if c.form == "pretty-lines" { // DuckDB reads one decision per line
		return sides, failed
	}
	addDuckDB("duckdb_one", 1, log)
	addDuckDB("duckdb", runtime.NumCPU(), log)
	return sides, failed
}

// sample writes a log, which is in the page cache afterwards.
func (b *logBench) sample(ctx context.Context, c logCase, form, folder, amount string, n int64) (log logFile, err error) {
	b.progress.Printf("report: writing a log: %s, compression %s, %s B a decision, %s %d", form, c.compress, c.eventSize, amount, n)
	f, err := os.CreateTemp(folder, "*"+map[string]string{"gzip": ".log.gz", "zstd": ".log.zst", "none": ".log"}[c.compress])
	if err != nil {
		return log, err
	}
	defer f.Close()
	log.name = f.Name()
	if _, _, err := execute(ctx, nil, filepath.Join(b.bin, "regometer"), "sample", "--form", form, "--compress", c.compress,
		"--event-size", c.eventSize, "-o", log.name, amount, strconv.FormatInt(n, 10)); err != nil {
		return log, err
	}
	written, err := os.Stat(log.name)
	if err != nil {
		return log, err
	}
	log.bytes = written.Size()
	truth, err := os.Open(log.name + ".truth.json")
	if err != nil {
		return log, err
	}
	defer truth.Close()
	log.truth, err = parseDocument(truth)
	return log, err
}
