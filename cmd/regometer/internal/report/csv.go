// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/csv"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/regometer/regometer/outcome"
)

// WriteCSV writes a report as CSV (RFC 4180, with lines that end in a line
// feed), with a row for each group and stage, in the order of the report and of
// the names. A group without stages has one row, whose last columns are empty.
// The columns:
//
//   - the key of the group, with the name Report.By;
//   - decisions, and allowed, denied, result, undefined, error, cancelled, and
//     the bytes of the events: those of the group, the same in all of its rows;
//   - stage, and the fields that a stage has in JSON.
//
// Keys and names that begin with =, +, - or @ get an apostrophe in front,
// because a spreadsheet would take them for formulas. Control characters are
// written as in a Go string. Bytes that are not UTF-8 become U+FFFD. The error
// is that of w.
func (r *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	row := []string{csvText(r.By), "decisions"}
	for o := range r.Total.Outcomes {
		row = append(row, outcome.Outcome(o).String())
	}
	row = append(append(row, "bytes", "max_bytes", "input_bytes", "result_bytes", "nd_builtin_cache_bytes", "stage"), stageFields...)
	if err := out.Write(row); err != nil {
		return err
	}
	for _, g := range r.Groups.Sums() {
		row = append(row[:0], csvText(g.Key), strconv.FormatUint(g.Decisions, 10))
		for _, n := range append(g.Outcomes[:], g.Sizes.Total, g.Sizes.Max, g.Sizes.Input, g.Sizes.Result, g.Sizes.Cache) {
			row = append(row, strconv.FormatUint(n, 10))
		}
		group := len(row)
		if len(g.Stages) == 0 {
			if err := out.Write(append(row, make([]string, 1+len(stageFields))...)); err != nil {
				return err
			}
		}
		for s := range g.Stages {
			f := g.Figures(&g.Stages[s])
			row = append(append(row[:group], csvText(f.Name)), f.fields()...)
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// csvText returns text from a log as a cell that is not a formula and has no
// control characters.
func csvText(s string) string {
	if strings.IndexAny(s, "=+-@") == 0 {
		s = "'" + s
	}
	return controls.ReplaceAllStringFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r string) string {
		return strings.Trim(strconv.Quote(r), `"`)
	})
}

var controls = regexp.MustCompile(`\p{Cc}`)
