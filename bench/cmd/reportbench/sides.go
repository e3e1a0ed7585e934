// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// query is what DuckDB is asked. The log's columns are spelled out, with no
// field that is not needed. Some paths begin with a slash, and a duration of 0
// is of a timer that was not stopped: that both are seen to takes no time that
// could be measured (ltrim in place of CASE does).
//
// The exact quantile_disc takes no longer than quantile_cont, and less than
// approx_quantile. The order of insertion is switched off since that may be
// faster; records and maximum_object_size make no difference.
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

// A logCase is a kind of log.
type logCase struct {
	name string
	form, compress,
	eventSize string // as `regometer sample` takes them
}

var cases = []logCase{
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

// A side is a command that is measured.
type side struct {
	logCase string // with "_quarter" for a log of a quarter of the size
	impl    string
	log     logFile // what it reads
	command []string
	check   func(stdout io.Reader, of truth) error
}

// measure writes the logs of a case, measures all sides by turns, each run
// beginning with another one, prints their figures, and removes the logs.
func (b *bench) measure(ctx context.Context, c logCase) (err error) {
	folder, err := os.MkdirTemp(b.work, c.name+"-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	sides, err := b.sides(ctx, c, folder)
	if err != nil {
		return err
	}
	for _, s := range sides { // into the page cache
		if err := readOnce(s.log.name); err != nil {
			return err
		}
	}
	for i := range b.runs {
		b.progress("%s: run %d of %d", c.name, i+1, b.runs)
		for j := range sides {
			if err := b.turn(ctx, sides[(i+j)%len(sides)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn runs a side once and prints its figures. Throughput is that of the bytes
// of the file which it reads.
func (b *bench) turn(ctx context.Context, s side) (err error) {
	stdout, err := os.Create(filepath.Join(b.work, "stdout"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stdout.Close()) }()
	took, err := execute(ctx, stdout, s.command...)
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
		s.logCase, s.impl, took.time.Nanoseconds(), float64(s.log.bytes)/1e6/took.time.Seconds(), took.memory)
	return err
}

// sides writes a case's logs into a folder and returns who reads them.
func (b *bench) sides(ctx context.Context, c logCase, folder string) ([]side, error) {
	log, err := b.sample(ctx, c, folder, "--size", strconv.FormatInt(b.size, 10))
	if err != nil {
		return nil, err
	}
	quarter, err := b.sample(ctx, c, folder, "--size", strconv.FormatInt(b.size/4, 10))
	if err != nil {
		return nil, err
	}
	report := func(log logFile, workers string) []string {
		return []string{b.program("regometer"), "report", "--format", "json", "--workers", workers, log.name}
	}
	portable := report(log, "0")
	portable[0] = b.program(filepath.Join("purego", "regometer"))
	sides := []side{
		{c.name, "regometer_all", log, report(log, "0"), checkReport},
		{c.name + "_quarter", "regometer_all", quarter, report(quarter, "0"), checkReport},
	}
	switch {
	case c.compress != "none":
		return append(sides, side{c.name, "library", log, []string{b.program("decompress"), log.name}, checkLength(b.size)}), nil
	case c.form == "docker":
		// DuckDB reads the lines that docker has wrapped.
		unwrapped := c
		unwrapped.form = "console"
		bare, err := b.sample(ctx, unwrapped, folder, "--decisions", strconv.FormatInt(log.truth.decisions, 10))
		if err != nil {
			return nil, err
		}
		bare.truth = log.truth
		sides = append(sides, side{c.name, "regometer_portable", log, portable, checkReport})
		return append(sides, b.duckdbSides(c, bare, runtime.NumCPU())...), nil
	}
	sides = append(sides,
		side{c.name, "regometer_one", log, report(log, "1"), checkReport},
		side{c.name, "regometer_portable", log, portable, checkReport})
	if c.form == "pretty-lines" { // the others read a decision a line
		return sides, nil
	}
	sides = append(sides, side{c.name, "encoding_json", log, []string{b.program("plainreport"), log.name}, checkRows})
	sides = append(sides, b.duckdbSides(c, log, 1, runtime.NumCPU())...)
	if b.jq != "" {
		part, err := firstPart(log, max(b.size/20, min(b.size, 1e6)))
		if err != nil {
			return nil, err
		}
		sides = append(sides, side{c.name, "jq", part, []string{b.jq, "-c", jqFilter, part.name}, checkLines})
	}
	return sides, nil
}

// duckdbSides are DuckDB with these numbers of threads, of which the last is
// all.
func (b *bench) duckdbSides(c logCase, log logFile, threads ...int) (sides []side) {
	if b.duckdb == "" {
		return nil
	}
	for i, n := range threads {
		impl := "duckdb_one"
		if i == len(threads)-1 {
			impl = "duckdb_all"
		}
		command := []string{b.duckdb, "-json", "-c", query(strconv.Itoa(n), log.name)}
		sides = append(sides, side{c.name, impl, log, command, checkRows})
	}
	return sides
}

// sample writes a log, with what is in it beside it.
func (b *bench) sample(ctx context.Context, c logCase, folder string, amount ...string) (logFile, error) {
	b.progress("writing a log: %s, compression %s, %s B a decision, %s", c.form, c.compress, c.eventSize, strings.Join(amount, " "))
	f, err := os.CreateTemp(folder, "*"+map[string]string{"gzip": ".log.gz", "zstd": ".log.zst", "none": ".log"}[c.compress])
	if err != nil {
		return logFile{}, err
	}
	name := f.Name()
	if err := f.Close(); err != nil {
		return logFile{}, err
	}
	command := []string{b.program("regometer"), "sample", "--form", c.form, "--compress", c.compress, "--event-size", c.eventSize, "-o", name}
	if _, err := execute(ctx, nil, append(command, amount...)...); err != nil {
		return logFile{}, err
	}
	truth, err := readTruth(name + ".truth.json")
	if err != nil {
		return logFile{}, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return logFile{}, err
	}
	return logFile{name, info.Size(), truth}, nil
}

// firstPart writes the lines that are in the first bytes of a log to a file of
// their own.
func firstPart(log logFile, bytes int64) (part logFile, err error) {
	from, err := os.Open(log.name)
	if err != nil {
		return part, err
	}
	defer from.Close()
	part.name = log.name + ".part"
	to, err := os.Create(part.name)
	if err != nil {
		return part, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	lines := bufio.NewReader(from)
	out := bufio.NewWriter(to)
	for part.bytes < bytes {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return part, err
		}
		if _, err := out.Write(line); err != nil {
			return part, err
		}
		part.bytes += int64(len(line))
		part.truth.decisions++
	}
	return part, out.Flush()
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

// checkLength returns a check for how much text was decompressed: at least that
// many bytes, and at most another event.
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

// readOnce reads a file, so that it is in the page cache.
func readOnce(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}
