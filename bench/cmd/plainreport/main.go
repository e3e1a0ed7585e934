// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command plainreport prints the quantiles of four stages of each path in a
// decision log, one event a line, as a plain Go program does it: each line is
// parsed with encoding/json, the durations are sorted. `regometer report` is
// measured beside it.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// An event is what is needed of one.
type event struct {
	Path    string
	Metrics struct {
		Resolve int64 `json:"timer_rego_external_resolve_ns"`
		Parse   int64 `json:"timer_rego_input_parse_ns"`
		Eval    int64 `json:"timer_rego_query_eval_ns"`
		Handler int64 `json:"timer_server_handler_ns"`
	}
}

// A row is what is printed of a path: p50, p90, p99 and p99.9 of each stage, by
// nearest rank, or nothing if no timer of it was stopped.
type row struct {
	Path    string  `json:"path"`
	Resolve []int64 `json:"rego_external_resolve"`
	Parse   []int64 `json:"rego_input_parse"`
	Eval    []int64 `json:"rego_query_eval"`
	Handler []int64 `json:"server_handler"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "Usage: plainreport FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "plainreport:", err)
		os.Exit(1)
	}
}

func run(name string, out io.Writer) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := quantilesByPath(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return json.NewEncoder(out).Encode(rows)
}

func quantilesByPath(r io.Reader) ([]row, error) {
	durations := make(map[string]*row)
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		} else if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		path := strings.TrimPrefix(e.Path, "/")
		if path == "" {
			path = "(query)"
		}
		d := durations[path]
		if d == nil {
			d = &row{Path: path}
			durations[path] = d
		}
		d.Resolve = add(d.Resolve, e.Metrics.Resolve)
		d.Parse = add(d.Parse, e.Metrics.Parse)
		d.Eval = add(d.Eval, e.Metrics.Eval)
		d.Handler = add(d.Handler, e.Metrics.Handler)
	}
	rows := make([]row, 0, len(durations))
	for _, d := range durations {
		rows = append(rows, row{d.Path, quantiles(d.Resolve), quantiles(d.Parse), quantiles(d.Eval), quantiles(d.Handler)})
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.Path, b.Path) })
	return rows, nil
}

// add appends a duration, unless its timer was not stopped or is not there.
func add(durations []int64, ns int64) []int64 {
	if ns == 0 {
		return durations
	}
	return append(durations, ns)
}

func quantiles(durations []int64) []int64 {
	if len(durations) == 0 {
		return nil
	}
	slices.Sort(durations)
	var values []int64
	for _, perMille := range []int{500, 900, 990, 999} {
		rank := (len(durations)*perMille + 999) / 1000
		values = append(values, durations[rank-1])
	}
	return values
}
