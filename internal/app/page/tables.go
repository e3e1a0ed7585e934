// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/sum"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// A table has a name in the first column of each row.
type table struct {
	Label string // what it shows, to those who do not see what is around it
	Head  []heading
	Rows  [][]string
	More  string // what is left out
}

// A heading is that of a column.
type heading struct {
	Name   string
	Column column
}

// A column is what is below a heading, and its class in the style sheet.
type column string

const (
	number column = "number"
	words  column = "text"
	line   column = "text line" // not broken
)

// quantiles are the titles of the last columns of most tables.
var quantiles = [...]string{"p50", "p90", "p95", "p99", "p99.9", "max"}

// withQuantiles adds the headings of quantiles.
func withQuantiles(head ...heading) []heading {
	for _, q := range quantiles {
		head = append(head, heading{q, number})
	}
	return head
}

func (v *view) groupsTable(r *report.Report, label string, groups []*report.Group) table {
	t := table{Label: label, Head: withQuantiles(heading{v.Group, words}, heading{"Decisions", number}, heading{"Allowed", number},
		heading{"Failed", number}, heading{"Share of time", number})}
	for _, g := range groups {
		row := []string{keyText(g.Key), text.Count(g.Decisions),
			percent(sum.Ratio(g.Outcomes[rollup.Allowed], g.Decisions)),
			percent(sum.Ratio(g.Outcomes[rollup.Error], g.Decisions)),
			percent(sum.Share(g.Time, r.Total.Time))}
		t.Rows = append(t.Rows, append(row, quantilesOf(g, report.Outermost(g.Stages))...))
	}
	return t
}

// quantilesOf returns p50 to max of a stage of a group.
func quantilesOf(g *report.Group, s *groupby.Stage) []string {
	if s == nil || s.Durations.Count() == 0 {
		return slices.Repeat([]string{text.None}, len(quantiles))
	}
	var all []string
	f := g.Figures(s)
	for _, q := range append(f.Quantiles[:], f.Max) {
		all = append(all, duration(float64(q)))
	}
	return all
}

// stagesOf returns the table of a group's stages.
func stagesOf(g *report.Group) table {
	t := table{Label: "stages", Head: withQuantiles(heading{"Stage", words}, heading{"Timings", number}, heading{"Unfinished", number},
		heading{"Self time", number}, heading{"Share", number})}
	stages, more := atMost(g.ByTime(), maxStages)
	for _, f := range stages {
		row := []string{keyText(f.Name), text.Count(f.Count), text.Count(f.Unfinished), duration(sum.Float(f.Self)), percent(sum.Share(f.Self, g.Time))}
		t.Rows = append(t.Rows, append(row, quantilesOf(g, f.Stage)...))
	}
	t.More = moreOf(more, "stage")
	return t
}

// moreOf says how many are left out.
func moreOf(n int, what string) string {
	if n == 0 {
		return ""
	}
	return "And " + text.Plural(n, "more "+what) + "."
}

func decisionsOf(r *report.Report) table {
	t := table{Label: "slowest decisions", Head: []heading{{"Took", line}, {"When (UTC)", line}, {shownBy(r.By), words}, {"Outcome", line}, {"Decision id", words}, {"Stages", words}, {"Where", words}}}
	slowest, more := atMost(r.Slowest, maxSlowest)
	for _, d := range slowest {
		stages, moreStages := atMost(d.Stages, maxSlowStages)
		var parts []string
		for _, s := range stages {
			parts = append(parts, labelText(s.Stage)+" "+duration(float64(s.Took)))
		}
		if moreStages > 0 {
			parts = append(parts, text.Count(moreStages)+" more")
		}
		t.Rows = append(t.Rows, []string{duration(float64(d.Took)), instant(d.Time, text.ToTheMilli), keyText(d.Key), d.Outcome.String(),
			cmp.Or(text.Fit(d.ID, keyLength), text.None), strings.Join(parts, ", "), placeOf(d.Place)})
	}
	t.More = moreOf(more, "decision")
	return t
}

func shownBy(by string) string {
	one, _ := groupNames(by)
	return one
}

func placeOf(p report.Place) string {
	if p.File == "" {
		return text.None
	}
	return text.Fit(p.File, keyLength) + ":" + fmt.Sprint(p.Line)
}

func revisionsOf(all []report.Revision) table {
	t := table{Label: "revisions", Head: withQuantiles(heading{"Revision", words}, heading{"First decision (UTC)", line},
		heading{"Last decision (UTC)", line}, heading{"Evaluations", number})}
	revisions, more := atMost(all, maxRevisions)
	for i := range revisions {
		rev := &revisions[i]
		row := []string{keyText(rev.Name), instant(rev.First, text.ToTheSecond), instant(rev.Last, text.ToTheSecond), text.Count(rev.Evaluation.Durations.Count())}
		t.Rows = append(t.Rows, append(row, quantilesOf(new(report.Group), &rev.Evaluation)...))
	}
	t.More = moreOf(more, "revision")
	return t
}

func problemsOf(all []report.Problem) table {
	t := table{Label: "problems", Head: []heading{{"Problem", words}, {"Count", number}, {"First seen at (file:line)", words}}}
	problems, more := atMost(all, maxProblems)
	for _, p := range problems {
		var places []string
		first, _ := atMost(p.First, maxPlaces)
		for _, at := range first {
			places = append(places, placeOf(at))
		}
		t.Rows = append(t.Rows, []string{keyText(p.Kind), text.Count(p.Count), strings.Join(places, ", ")})
	}
	t.More = moreOf(more, "kind")
	return t
}
