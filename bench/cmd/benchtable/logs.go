// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
)

// query is what DuckDB is asked. The log's columns are spelled out, with no
// field that is not needed. Some paths begin with a slash, and a duration of 0
// is of a timer that was not stopped. To respect both takes no time that could
// be measured (ltrim in place of CASE does).
//
// The exact quantile_disc takes no longer than quantile_cont, and less than
// approx_quantile. The order of insertion is switched off because that may be
// faster. records and maximum_object_size make no difference.
func query(threads, file string) string {
	var columns, quantiles []string
	for _, stage := range stages {
		columns = append(columns, "timer_"+stage+"_ns BIGINT")
		quantiles = append(quantiles, fmt.Sprintf("quantile_disc(nullif(metrics.timer_%s_ns, 0), [0.5, 0.9, 0.99, 0.999]) AS %[1]s", stage))
	}
	return fmt.Sprintf("SET threads = %s; SET preserve_insertion_order = false; SELECT CASE WHEN starts_with(path, '/') THEN path[2:] ELSE path END AS path, %s "+
		"FROM read_json('%s', format = 'newline_delimited', columns = {path: 'VARCHAR', metrics: 'STRUCT(%s)'}) GROUP BY ALL",
		threads, strings.Join(quantiles, ", "), file, strings.Join(columns, ", "))
}

// jqFilter extracts two fields.
const jqFilter = "[.path, .metrics.timer_rego_query_eval_ns]"

// A logCase is a kind of log, in the words of `regometer sample`.
type logCase struct{ name, form, compress, eventSize string }

var logCases = []logCase{
	{"ndjson_512", "ndjson", "none", "512"},
	{"ndjson_8k", "ndjson", "none", "8KB"},
	{"spaced", "spaced", "none", "512"},
	{"pretty", "pretty-lines", "none", "512"},
	{"docker", "docker", "none", "512"},
	{"gzip", "ndjson", "gzip", "512"},
	{"zstd", "ndjson", "zstd", "512"},
}

// A logFile is a log that was written.
type logFile struct {
	name  string
	bytes int64
	truth truth
}

// A logSide is a command that is measured.
type logSide struct {
	logCase string // with "_quarter" for a log of a quarter of the size
	impl    string
	log     logFile // what it reads
	command []string
	check   func(stdout io.Reader, of truth) error
}

// A logBench measures `regometer report` beside DuckDB, jq, a plain Go program
// and the decompression libraries, on logs that it writes.
type logBench struct {
	options
	work       string // folder of the logs
	out        io.Writer
	progress   measure.Progress
	duckdb, jq string // programs, or ""
}

// run prints figures in the format of go test -bench.
func (b *logBench) run(ctx context.Context) error {
	if err := b.findRivals(ctx); err != nil {
		return err
	}
	for _, c := range logCases {
		if err := b.measure(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// program returns the path of a program in the folder -bin.
func (b *logBench) program(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(b.bin, name)
}

// findRivals looks for the programs that are not ours, and prints their
// versions and commands as lines of configuration.
func (b *logBench) findRivals(ctx context.Context) error {
	b.duckdb = os.Getenv("REGOMETER_DUCKDB")
	for name, program := range map[string]*string{"duckdb": &b.duckdb, "jq": &b.jq} {
		if *program == "" {
			*program, _ = exec.LookPath(name)
		}
		version := "none"
		if *program != "" {
			out, err := exec.CommandContext(ctx, *program, "--version").Output()
			if err != nil {
				return fmt.Errorf("%s --version: %w", *program, err)
			}
			version = strings.TrimSpace(string(out))
		} else {
			b.progress.Printf("report: skipped %s: it is not in PATH", name)
		}
		fmt.Fprintf(b.out, "%s: %s\n", name, version)
	}
	info, err := buildinfo.ReadFile(b.program("decompress"))
	if err != nil {
		return err
	}
	for _, module := range info.Deps {
		if module.Path == "github.com/klauspost/compress" {
			fmt.Fprintf(b.out, "compress: %s %s\n", module.Path, module.Version)
		}
	}
	fmt.Fprintf(b.out, "sql: %s\njqfilter: %s\n", query("THREADS", "FILE"), jqFilter)
	return nil
}

// measure writes the logs of a case, measures all sides by turns, each run
// beginning with another one, prints their figures, and removes the logs.
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
			if err := b.turn(ctx, sides[(i+j)%len(sides)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn runs a side once and prints its figures.
func (b *logBench) turn(ctx context.Context, s logSide) (err error) {
	stdout, err := os.Create(filepath.Join(b.work, "stdout"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stdout.Close()) }()
	time, memory, err := execute(ctx, stdout, s.command...)
	if err == nil {
		_, err = stdout.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = s.check(stdout, s.log.truth)
	}
	if err != nil {
		return fmt.Errorf("case=%s, impl=%s: %w", s.logCase, s.impl, err)
	}
	_, err = fmt.Fprintf(b.out, "BenchmarkReport/case=%s/impl=%s 1 %d ns/op %.1f MB/s %d max-B\n",
		s.logCase, s.impl, time.Nanoseconds(), float64(s.log.bytes)/1e6/time.Seconds(), memory)
	return err
}

// execute runs a command that prints to stdout, which is a file or nil. It
// returns the time from start to exit, and the most memory that was resident.
//
// Linux counts as a process's resident memory also what its parent had resident
// when it started it, because until then both are one. So this process must
// never hold anything large.
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
	return passed, maxResident(cmd.ProcessState), nil
}

// sides writes a case's logs into a folder and returns the commands that read
// them.
func (b *logBench) sides(ctx context.Context, c logCase, folder string) (sides []logSide, failed error) {
	sample := func(c logCase, amount string, n int64) logFile {
		log, err := b.sample(ctx, c, folder, amount, n)
		failed = errors.Join(failed, err)
		return log
	}
	add := func(impl string, log logFile, check func(io.Reader, truth) error, command ...string) {
		sides = append(sides, logSide{c.name, impl, log, append(command, log.name), check})
	}
	addReport := func(impl, program, workers string, log logFile) {
		add(impl, log, checkReport, b.program(program), "report", "--format", "json", "--workers", workers)
	}
	addDuckDB := func(impl string, threads int, log logFile) {
		if b.duckdb != "" {
			sides = append(sides, logSide{c.name, impl, log, []string{b.duckdb, "-json", "-c", query(strconv.Itoa(threads), log.name)}, checkRows})
		}
	}
	portable := filepath.Join("purego", "regometer")
	size := int64(b.size) * 1e6
	log := sample(c, "--size", size)
	addReport("regometer_all", "regometer", "0", sample(c, "--size", size/4))
	sides[0].logCase += "_quarter"
	addReport("regometer_all", "regometer", "0", log)
	switch {
	case c.compress != "none":
		add("library", log, checkLength(size), b.program("decompress"))
		return sides, failed
	case c.form == "docker":
		// DuckDB reads the lines that docker has wrapped.
		addReport("regometer_portable", portable, "0", log)
		unwrapped := c
		unwrapped.form = "console"
		bare := sample(unwrapped, "--decisions", log.truth.decisions)
		bare.truth = log.truth
		addDuckDB("duckdb_all", runtime.NumCPU(), bare)
		return sides, failed
	}
	addReport("regometer_one", "regometer", "1", log)
	addReport("regometer_portable", portable, "0", log)
	if c.form == "pretty-lines" { // the others read a decision a line
		return sides, failed
	}
	add("encoding_json", log, checkRows, b.program("plainreport"))
	addDuckDB("duckdb_one", 1, log)
	addDuckDB("duckdb_all", runtime.NumCPU(), log)
	if b.jq != "" {
		add("jq", sample(c, "--size", max(size/20, min(size, 1e6))), checkLines, b.jq, "-c", jqFilter)
	}
	return sides, failed
}

// sample writes a log, with what is in it beside it, and reads it once, so that
// it is in the page cache.
func (b *logBench) sample(ctx context.Context, c logCase, folder, amount string, n int64) (log logFile, err error) {
	b.progress.Printf("report: writing a log: %s, compression %s, %s B a decision, %s %d", c.form, c.compress, c.eventSize, amount, n)
	f, err := os.CreateTemp(folder, "*"+map[string]string{"gzip": ".log.gz", "zstd": ".log.zst", "none": ".log"}[c.compress])
	if err != nil {
		return log, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	log.name = f.Name()
	if _, _, err := execute(ctx, nil, b.program("regometer"), "sample", "--form", c.form, "--compress", c.compress,
		"--event-size", c.eventSize, "-o", log.name, amount, strconv.FormatInt(n, 10)); err != nil {
		return log, err
	}
	if log.truth, err = readTruth(log.name + ".truth.json"); err != nil {
		return log, err
	}
	written, err := os.Open(log.name)
	if err != nil {
		return log, err
	}
	defer written.Close()
	log.bytes, err = io.Copy(io.Discard, written)
	return log, err
}

// checkLines returns an error unless there is a line for each decision.
func checkLines(stdout io.Reader, of truth) error {
	var n int64
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		n++
	}
	if lines.Err() != nil || n != of.decisions {
		return errors.Join(fmt.Errorf("%d lines of %d decisions", n, of.decisions), lines.Err())
	}
	return nil
}

// checkLength returns a check for how much text was decompressed: at least size
// bytes, and at most another event.
func checkLength(size int64) func(io.Reader, truth) error {
	return func(stdout io.Reader, _ truth) error {
		var n int64
		if _, err := fmt.Fscan(stdout, &n); err != nil {
			return err
		}
		if n < size || n > size+10_000 {
			return fmt.Errorf("%d bytes of text, want %d", n, size)
		}
		return nil
	}
}
