// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"

	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/outcome"
)

// A table has a name in the first column of each row.
type table struct {
	Label   string // for readers who do not see the text around it
	Columns []text.Column
	Rows    [][]string
	More    string // the number of rows that are left out
}

// newTable returns a table with a row for each of the first elements. The table
// says how many elements of the kind it leaves out.
func newTable[T any](label string, columns []text.Column, all []T, kind string, row func(T) []string) table {
	t := table{Label: label, Columns: columns}
	shown, more := atMost(all, maxRows)
	for _, v := range shown {
		t.Rows = append(t.Rows, row(v))
	}
	t.More = moreOf(more, kind)
	return t
}

// moreOf writes the number of things that a list leaves out.
func moreOf(n int, what string) string {
	if n == 0 {
		return ""
	}
	return "And " + text.Plural(n, "more "+what) + "."
}

// quantileTitles are the titles of the last columns of most tables.
var quantileTitles = []string{"p50", "p90", "p95", "p99", "p99.9", "max"}

// withQuantiles returns columns with these titles, the first n of them for
// text, and columns of quantiles.
func withQuantiles(n int, titles ...string) []text.Column {
	return text.Columns(n, append(titles, quantileTitles...)...)
}

// quantilesOf returns p50 to max of a stage of a group.
func quantilesOf(g *report.Group, s *groupby.Stage) []string {
	if s == nil || s.Durations.Count() == 0 {
		return slices.Repeat([]string{text.None}, len(quantileTitles))
	}
	var all []string
	f := g.Figures(s)
	for _, q := range append(f.Quantiles[:], s.Durations.Max()) {
		all = append(all, duration(float64(q)))
	}
	return all
}

func (v *view) groupsTable(label string, groups []*report.Group) table {
	columns := withQuantiles(1, v.Group, "Decisions", "Allowed", "Failed", "Share of time")
	t := table{Label: label, Columns: columns}
	for _, g := range groups {
		row := []string{keyText(g.Key), text.Count(g.Decisions),
			percent(report.Ratio(g.Outcomes[outcome.Allowed], g.Decisions)),
			percent(report.Ratio(g.Outcomes[outcome.Error], g.Decisions)),
			percent(report.Share(g.Time, v.Total.Time))}
		t.Rows = append(t.Rows, append(row, quantilesOf(g, report.Outermost(g.Stages))...))
	}
	return t
}

// stagesOf returns the table of a group's stages.
func stagesOf(label string, g *report.Group) table {
	columns := withQuantiles(1, "Stage", "Timings", "Unfinished", "Self time", "Share")
	return newTable(label, columns, g.ByTime(), "stage", func(f report.Figures) []string {
		row := []string{keyText(f.Name), text.Count(f.Durations.Count()), text.Count(f.Unfinished), duration(report.Float(f.Self)), percent(report.Share(f.Self, g.Time))}
		return append(row, quantilesOf(g, f.Stage)...)
	})
}

// Decisions returns the table of the slowest decisions.
func (v *view) Decisions() table {
	columns := text.Columns(7, "Took", "When (UTC)", v.Group, "Outcome", "Decision id", "Stages", "Where")
	return newTable("slowest decisions", columns, v.Slowest, "decision", func(d report.SlowDecision) []string {
		stages := joined(d.Stages, maxSlowStages, func(s report.StageTime) string { return labelText(s.Stage) + space + duration(float64(s.Took)) })
		return []string{duration(float64(d.Took)), instant(d.Time, text.ToTheMilli), keyText(d.Key), d.Outcome.String(),
			cmp.Or(text.Fit(d.IDs(), keyLength), text.None), stages, placeOf(d.Place)}
	})
}

func placeOf(p report.Place) string {
	return keyText(p.File) + ":" + fmt.Sprint(p.Line)
}

// Revisions returns the table of the bundle revisions.
func (v *view) Revisions() table {
	columns := withQuantiles(3, "Revision", "First decision (UTC)", "Last decision (UTC)", "Evaluations")
	return newTable("revisions", columns, v.Report.Revisions, "revision", func(r report.Revision) []string {
		row := []string{keyText(r.Name), instant(r.First, text.ToTheSecond), instant(r.Last, text.ToTheSecond), text.Count(r.Evaluation.Durations.Count())}
		return append(row, quantilesOf(new(report.Group), &r.Evaluation)...)
	})
}

// Problems returns the table of the problems of the input.
func (v *view) Problems() table {
	columns := text.Columns(3, "Problem", "Count", "First seen at (file:line)")
	columns[1].Left = false
	return newTable("problems", columns, v.Inputs.Problems, "kind", func(p report.Problem) []string {
		return []string{keyText(p.Kind), text.Count(p.Count), joined(p.First, maxRows, placeOf)}
	})
}
