// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"

	"github.com/regometer/regometer/internal/app/samplelog"
)

// An answer has the durations of each path and stage in ns: p50, p90, p95, p99
// and p99.9, by nearest rank, the maximum and the sum.
type answer map[[2]string][7]int64

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
		for name, s := range g.Stages {
			if s.Count == 0 {
				continue
			}
			if s.Quantiles == nil || s.P50 == 0 { // the log was too large for exact quantiles
				return t, fmt.Errorf("%s of %s has no quantiles", name, g.Path)
			}
			t.answer[[2]string{g.Path, name}] = [7]int64{s.P50, s.P90, s.P95, s.P99, s.P999, s.Max, s.Sum}
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
	near := func(got, want [7]int64) bool {
		const bound = 0.011 // of the default layout of exphist
		const rounding = 1  // quantiles are whole ns
		for i := range got {
			if math.Abs(float64(got[i]-want[i])) > bound*float64(want[i])+rounding {
				return false
			}
		}
		return true
	}
	if got.decisions != want.decisions || !maps.EqualFunc(got.answer, want.answer, near) {
		return fmt.Errorf("the figures of %d decisions are\n%v, want those of %d:\n%v", got.decisions, got.answer, want.decisions, want.answer)
	}
	return nil
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
		for stage, text := range row {
			var s struct {
				Quantiles []int64 // and the maximum
				Sum       int64
			}
			if err := json.Unmarshal(text, &s); err != nil {
				return fmt.Errorf("%s of %s: %w", stage, path, err)
			}
			if s.Quantiles != nil {
				var figures [7]int64
				copy(figures[:], append(s.Quantiles, s.Sum))
				got[[2]string{path, stage}] = figures
			}
		}
	}
	if !maps.Equal(got, want.answer) {
		return fmt.Errorf("the figures are\n%v, want\n%v", got, want.answer)
	}
	return nil
}
