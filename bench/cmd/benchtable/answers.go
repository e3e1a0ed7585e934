// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// stages are those whose quantiles all sides print.
var stages = [...]string{"rego_external_resolve", "rego_input_parse", "rego_query_eval", "server_handler"}

// quantiles are p50, p90, p99 and p99.9, by nearest rank, in ns; nil if there
// is not a duration.
type quantiles []int64

// An answer is the quantiles of the stages of each path.
type answer map[string]map[string]quantiles

// truth is what is in a log.
type truth struct {
	decisions int64
	answer    answer
}

// A document has the fields that are checked of a report as JSON, and of what
// `regometer sample` says of a log.
type document struct {
	Inputs struct {
		Decisions  int64
		OtherLines int64 `json:"other_lines"`
		Problems   []json.RawMessage
	}
	Groups []struct {
		Path   string
		Stages map[string]struct {
			Count int64
			P50   *int64 `json:"p50_ns"`
			P90   int64  `json:"p90_ns"`
			P99   int64  `json:"p99_ns"`
			P999  int64  `json:"p999_ns"`
		}
	}
}

// parseDocument reads one that has quantiles.
func parseDocument(r io.Reader) (t truth, err error) {
	var d document
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return t, err
	}
	if d.Inputs.OtherLines != 0 || len(d.Inputs.Problems) != 0 {
		return t, fmt.Errorf("%d other lines, problems: %s", d.Inputs.OtherLines, d.Inputs.Problems)
	}
	t = truth{decisions: d.Inputs.Decisions, answer: answer{}}
	for _, g := range d.Groups {
		of := map[string]quantiles{}
		for _, stage := range stages {
			s := g.Stages[stage]
			if s.Count == 0 {
				continue
			}
			if s.P50 == nil {
				return t, errors.New("there are no quantiles")
			}
			of[stage] = quantiles{*s.P50, s.P90, s.P99, s.P999}
		}
		t.answer[g.Path] = of
	}
	return t, nil
}

// readTruth reads what `regometer sample` wrote.
func readTruth(file string) (truth, error) {
	f, err := os.Open(file)
	if err != nil {
		return truth{}, err
	}
	defer f.Close()
	t, err := parseDocument(f)
	if err == nil && t.decisions == 0 {
		err = errors.New("there are no decisions")
	}
	if err != nil {
		return t, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

// checkReport returns an error unless a report is right within the bound of its
// histograms.
func checkReport(stdout io.Reader, want truth) error {
	got, err := parseDocument(stdout)
	if err != nil {
		return err
	}
	if got.decisions != want.decisions {
		return fmt.Errorf("%d decisions, want %d", got.decisions, want.decisions)
	}
	return compare(got.answer, want.answer, func(got, want int64) bool {
		const bound = 0.011 // of exphist.DefaultLayout
		const whole = 1     // a quantile is told in whole ns
		return math.Abs(float64(got-want)) <= bound*float64(want)+whole
	})
}

// checkRows returns an error unless an array of rows, each with the quantiles
// of a path, is exact. A row without a path is of the decisions of queries.
func checkRows(stdout io.Reader, want truth) error {
	var rows []map[string]json.RawMessage
	if err := json.NewDecoder(stdout).Decode(&rows); err != nil {
		return err
	}
	got := answer{}
	for _, row := range rows {
		path := "(query)"
		if err := json.Unmarshal(row["path"], &path); err != nil {
			return err
		}
		of := map[string]quantiles{}
		for _, stage := range stages {
			var q quantiles
			if err := json.Unmarshal(row[stage], &q); err != nil {
				return fmt.Errorf("%s of %s: %w", stage, path, err)
			}
			if q != nil {
				of[stage] = q
			}
		}
		got[path] = of
	}
	return compare(got, want.answer, func(got, want int64) bool { return got == want })
}

// compare returns an error unless all quantiles are there, and agree.
func compare(got, want answer, agree func(got, want int64) bool) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d paths, want %d", len(got), len(want))
	}
	for path, stages := range want {
		if len(got[path]) != len(stages) {
			return fmt.Errorf("%s has %d stages, want %d", path, len(got[path]), len(stages))
		}
		for stage, w := range stages {
			if g := got[path][stage]; !slices.EqualFunc(g, w, agree) {
				return fmt.Errorf("the quantiles of %s of %s are %d, want %d", stage, path, g, w)
			}
		}
	}
	return nil
}
