// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
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

// outcomeTitles returns titles of columns: the outcomes that the log has.
func (v *view) outcomeTitles() (titles []string) {
	for o, n := range v.Total.Outcomes {
		if n > 0 {
			titles = append(titles, wordOf(o))
		}
	}
	return titles
}

// outcomeShares returns the share of each of these outcomes. A path without any
// yes or no has no share of allowed decisions, rather than 0 %.
func (v *view) outcomeShares(of [len(report.Group{}.Outcomes)]uint64, decisions uint64) (shares []string) {
	verdict := of[outcome.Allowed]+of[outcome.Denied] > 0
	for o, n := range v.Total.Outcomes {
		switch {
		case n > 0 && !verdict && outcome.Outcome(o) <= outcome.Denied:
			shares = append(shares, text.None)
		case n > 0:
			shares = append(shares, percent(report.Ratio(of[o], decisions)))
		}
	}
	return shares
}

// All returns the table of the groups with the most time.
func (v *view) All() table {
	titles := slices.Concat([]string{v.Group, "Decisions"}, v.outcomeTitles(), []string{"Share of time"})
	t := table{Label: "all " + v.GroupList, Columns: withQuantiles(1, titles...), More: moreOf(v.Groups.Len()-len(v.all), "group")}
	for _, g := range v.all {
		t.Rows = append(t.Rows, slices.Concat([]string{keyText(g.Key), text.Count(g.Decisions)}, v.outcomeShares(g.Outcomes, g.Decisions),
			[]string{percent(report.Share(g.Time, v.Total.Time))}, quantilesOf(g, report.Outermost(g.Stages))))
	}
	return t
}

// Members returns the table of the servers or clients, if a finding names one.
// Those that findings name come first.
func (v *view) Members(kind string) table {
	all, findings := v.Servers(), map[string][]string{} // the numbers of findings, by the name
	if kind == "client" {
		all = v.Clients()
	}
	for i, f := range v.Findings {
		if name := map[string]string{"server": f.Server, "client": f.Client}[kind]; name != "" {
			findings[name] = append(findings[name], fmt.Sprint(i+1))
		}
	}
	if len(findings) == 0 {
		return table{}
	}
	slices.SortStableFunc(all, func(a, b report.Member) int {
		return cmp.Or(min(len(findings[b.Name]), 1)-min(len(findings[a.Name]), 1), cmp.Compare(b.Decisions(), a.Decisions()))
	})
	first, more := atMost(all, maxMembers)
	titles := append([]string{"Name", "Finding", "First decision (UTC)", "Last decision (UTC)", "Decisions"}, v.outcomeTitles()...)
	t := table{Label: kind + "s", Columns: text.Columns(4, titles...), More: moreOf(more, kind)}
	for _, m := range first {
		name := keyText(m.Name)
		if m.ID != "" && m.ID != m.Name {
			name += " (id " + keyText(m.ID) + ")"
		}
		t.Rows = append(t.Rows, append([]string{name, cmp.Or(strings.Join(findings[m.Name], ", "), text.None),
			instant(m.First, text.ToTheSecond), instant(m.Last, text.ToTheSecond), text.Count(m.Decisions())}, v.outcomeShares(m.Outcomes, m.Decisions())...))
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
		return []string{duration(float64(d.Took)), instant(d.Time, text.ToTheMilli), keyText(d.Key), wordOf(int(d.Outcome)),
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
