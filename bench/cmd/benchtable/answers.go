// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/regometer/regometer/internal/app/samplelog"
)

// figures are p50, p90, p95, p99 and p99.9, by nearest rank, the maximum and the
// sum, in ns.
type figures []int64

// An answer has the figures of each path's stages. It leaves out the stages
// without a duration.
type answer map[string]map[string]figures

// truth is the content of a log.
type truth struct {
	decisions int64
	answer    answer
}

// parseDocument reads a report in JSON, or the truth that `regometer sample`
// writes beside a log.
func parseDocument(r io.Reader) (t truth, err error) {
	var d samplelog.Truth
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return t, err
	}
	if d.Inputs.Decisions == 0 || d.Inputs.OtherLines != 0 || len(d.Inputs.Problems) != 0 {
		return t, fmt.Errorf("%d decisions, %d other lines, problems: %v", d.Inputs.Decisions, d.Inputs.OtherLines, d.Inputs.Problems)
	}
	t = truth{d.Inputs.Decisions, answer{}}
	for _, g := range d.Groups {
		t.answer[g.Path] = map[string]figures{}
		for name, s := range g.Stages {
			if s.Count == 0 {
				continue
			}
			if s.Quantiles == nil || s.P50 == 0 { // the log was too large for exact quantiles
				return t, fmt.Errorf("%s of %s has no quantiles", name, g.Path)
			}
			t.answer[g.Path][name] = figures{s.P50, s.P90, s.P95, s.P99, s.P999, s.Max, s.Sum}
		}
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
		const rounding = 1  // quantiles are whole ns
		return math.Abs(float64(got-want)) <= bound*float64(want)+rounding
	})
}

// checkRows returns an error unless an array of rows has the exact figures, one
// path in a row. The row of queries has no path.
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
		delete(row, "path")
		got[path] = map[string]figures{}
		for stage, text := range row {
			var s struct {
				Quantiles figures // and the maximum
				Sum       int64
			}
			if err := json.Unmarshal(text, &s); err != nil {
				return fmt.Errorf("%s of %s: %w", stage, path, err)
			}
			if s.Quantiles != nil {
				got[path][stage] = append(s.Quantiles, s.Sum)
			}
		}
	}
	return compare(got, want.answer, func(got, want int64) bool { return got == want })
}

// compare returns an error unless all figures are there and agree.
func compare(got, want answer, agree func(got, want int64) bool) error {
	sameFigures := func(got, want figures) bool { return slices.EqualFunc(got, want, agree) }
	sameStages := func(got, want map[string]figures) bool { return maps.EqualFunc(got, want, sameFigures) }
	if !maps.EqualFunc(got, want, sameStages) {
		return fmt.Errorf("the figures are\n%v, want\n%v", got, want)
	}
	return nil
}
