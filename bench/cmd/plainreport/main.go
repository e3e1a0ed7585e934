// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command plainreport is a plain Go program to measure beside `regometer
// report`. It prints the quantiles of four stages of each path in a decision
// log with one event per line. It parses each line with encoding/json and sorts
// the durations. For a compressed log it prints only the number of bytes of
// text. It decompresses the log with the library and the settings of package
// report.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// An event has the fields of an event that are needed.
type event struct {
	Path    string
	Metrics struct {
		Resolve int64 `json:"timer_rego_external_resolve_ns"`
		Parse   int64 `json:"timer_rego_input_parse_ns"`
		Eval    int64 `json:"timer_rego_query_eval_ns"`
		Handler int64 `json:"timer_server_handler_ns"`
	}
}

// stages are the names of the stages, in the order of the fields of an event.
var stages = [4]string{"rego_external_resolve", "rego_input_parse", "rego_query_eval", "server_handler"}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "Usage: plainreport FILE | FILE.gz | FILE.zst")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "plainreport: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func run(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	buffered := bufio.NewReaderSize(f, bufferSize)
	switch filepath.Ext(name) {
	case ".gz":
		d, err := gzip.NewReader(buffered)
		if err != nil {
			return err
		}
		return printLength(d)
	case ".zst":
		d, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return err
		}
		defer d.Close()
		return printLength(d)
	default:
		return printQuantiles(f)
	}
}

// bufferSize is the number of bytes of a compressed log that are read at once.
const bufferSize = 1 << 18

// printLength prints the number of bytes of text.
func printLength(text io.Reader) error {
	// The structs hide other methods, so that CopyBuffer uses the buffer.
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{text}, make([]byte, bufferSize))
	fmt.Println(n)
	return err
}

// printQuantiles prints a row for each path: its name, and p50, p90, p99 and
// p99.9 of each stage by nearest rank, or null if no timer of the stage was
// stopped.
func printQuantiles(log io.Reader) error {
	durations := map[string]*[4][]int64{} // by path
	lines := bufio.NewScanner(log)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return err
		}
		path := cmp.Or(strings.TrimPrefix(e.Path, "/"), "(query)")
		if durations[path] == nil {
			durations[path] = new([4][]int64)
		}
		d := durations[path]
		for i, ns := range [4]int64{e.Metrics.Resolve, e.Metrics.Parse, e.Metrics.Eval, e.Metrics.Handler} {
			if ns != 0 {
				d[i] = append(d[i], ns)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	var rows []map[string]any
	for path, d := range durations {
		row := map[string]any{"path": path}
		for i, stage := range stages {
			row[stage] = quantiles(d[i])
		}
		rows = append(rows, row)
	}
	return json.NewEncoder(os.Stdout).Encode(rows)
}

func quantiles(durations []int64) (values []int64) {
	slices.Sort(durations)
	for _, perMille := range []int{500, 900, 990, 999} {
		if rank := (len(durations)*perMille + 999) / 1000; rank > 0 {
			values = append(values, durations[rank-1])
		}
	}
	return values
}
