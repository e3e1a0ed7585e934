// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/regometer/regometer/internal/app/sum"
	"github.com/regometer/regometer/rollup"
)

// WriteCSV writes a report as CSV (RFC 4180, with lines that end in a line
// feed), a row for each group and stage, in the order of the report and of the
// names. A group without stages has one row, whose last columns are empty. The
// columns:
//
//   - the key of the group, named as Report.By says;
//   - decisions, and allowed, denied, result, undefined, error, cancelled: those
//     of the group, the same in all of its rows;
//   - stage, count, unfinished, sum_ns, self_ns, min_ns, max_ns, p50_ns, p90_ns,
//     p95_ns, p99_ns, p999_ns: as in JSON.
//
// Keys and names that a spreadsheet would take for a formula, since they begin
// with =, +, -, @, a tab or a carriage return, get an apostrophe in front.
// Bytes that are no UTF-8 become U+FFFD. The error is that of w.
func WriteCSV(w io.Writer, r *Report) error {
	out := csv.NewWriter(w)
	row := []string{csvText(r.By), "decisions"}
	for o := range r.Total.Outcomes {
		row = append(row, rollup.Outcome(o).String())
	}
	row = append(row, csvStageColumns...)
	if err := out.Write(row); err != nil {
		return err
	}
	for _, g := range r.Groups.Sums() {
		row = append(row[:0], csvText(g.Key), strconv.FormatUint(g.Decisions, 10))
		for _, n := range g.Outcomes {
			row = append(row, strconv.FormatUint(n, 10))
		}
		group := len(row)
		if len(g.Stages) == 0 {
			row = append(row, make([]string, len(csvStageColumns))...)
			if err := out.Write(row); err != nil {
				return err
			}
		}
		for s := range g.Stages {
			row = appendCSVStage(row[:group], g.figures(&g.Stages[s]))
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

var csvStageColumns = []string{
	"stage", "count", "unfinished", "sum_ns", "self_ns", "min_ns", "max_ns",
	"p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns",
}

func appendCSVStage(row []string, f figures) []string {
	row = append(row, csvText(f.Name),
		strconv.FormatUint(f.Count, 10), strconv.FormatUint(f.Unfinished, 10), sum.String(f.Sum), sum.String(f.Self),
		strconv.FormatInt(f.Min, 10), strconv.FormatInt(f.Max, 10))
	for _, q := range f.Quantiles {
		row = append(row, strconv.FormatInt(q, 10))
	}
	return row
}

// csvText returns text from a log as a cell that is no formula.
func csvText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
