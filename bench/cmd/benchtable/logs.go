// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
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

// query returns the statements for DuckDB. They spell out the columns that are
// needed. Some paths begin with a slash, and a timer that was not stopped has
// the duration 0. Handling both takes no measurable time (ltrim instead of CASE
// does).
//
// The exact quantile_disc takes no longer than quantile_cont, and less time
// than approx_quantile. The order of insertion is switched off because that may
// be faster. records and maximum_object_size make no difference.
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

// A logCase is a kind of log: its title, and the flags of `regometer sample`.
type logCase struct{ name, title, form, compress, eventSize string }

var logCases = []logCase{
	{"ndjson_512", "0.5 KB a decision", "ndjson", "none", "512"},
	{"ndjson_8k", "8 KB a decision", "ndjson", "none", "8KB"},
	{"spaced", "spaced by json.dumps", "spaced", "none", "512"},
	{"pretty", "indented by json.Indent", "pretty-lines", "none", "512"},
	{"docker", "docker's json-file", "docker", "none", "512"},
	{"gzip", "gzip", "ndjson", "gzip", "512"},
	{"zstd", "zstd", "ndjson", "zstd", "512"},
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
		if err := b.measure(ctx, c); err != nil {
			return nil, fmt.Errorf("case=%s: %w", c.name, err)
		}
	}
	return b.lines.Bytes(), nil
}

// findDuckDB finds DuckDB, and writes its version and query as lines of
// configuration.
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
	fmt.Fprintf(&b.lines, "duckdb: %s\nsql: %s\n", version, query("THREADS", "FILE"))
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
	fmt.Fprintf(&b.lines, "BenchmarkReport/case=%s/impl=%s 1 %d ns/op %.1f MB/s %d max-B\n",
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
	addReport := func(impl, program, workers string, log logFile) {
		sides = append(sides, logSide{impl, log, []string{filepath.Join(b.bin, program), "report", "--format", "json", "--workers", workers, log.name}, checkReport})
	}
	addDuckDB := func(impl string, threads int, log logFile) {
		if b.duckdb != "" {
			sides = append(sides, logSide{impl, log, []string{b.duckdb, "-json", "-c", query(strconv.Itoa(threads), log.name)}, checkRows})
		}
	}
	size := int64(b.size) * 1e6
	log := sample(c.form, "--size", size)
	addReport("regometer", "regometer", "0", log)
	addReport("regometer_quarter", "regometer", "0", sample(c.form, "--size", size/4))
	if c.compress != "none" {
		return sides, failed
	}
	addReport("regometer_portable", filepath.Join("purego", "regometer"), "0", log)
	if c.form == "docker" { // DuckDB reads the lines without what docker adds
		bare := sample("console", "--decisions", log.truth.decisions)
		bare.truth = log.truth
		addDuckDB("duckdb", runtime.NumCPU(), bare)
		return sides, failed
	}
	addReport("regometer_one", "regometer", "1", log)
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
