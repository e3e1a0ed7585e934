// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/regometer/regometer/internal/app/text"
)

// WriteTable writes a report for people to read in a terminal. It writes the
// findings, the stages of each group by self time, the slowest decisions, and
// the input. No line is wider than the terminal, except commands, which people
// copy: long names lose their middle, and columns that do not fit are left out,
// the least important ones first. No control character from a log reaches the
// terminal. The error is that of w.
func WriteTable(w io.Writer, r *Report, o text.Options) error {
	t := table{text.NewTerminal(w, o)}
	t.findings(r)
	t.groups(r, shown(r, o.Top))
	t.slowest(r)
	t.inputs(r)
	return t.Flush()
}

// table writes a report to a terminal.
type table struct{ *text.Terminal }

func (t table) title(title string) { t.Line(t.Styled(text.Bold, text.Shorten(title, t.Width))) }

func (t table) findings(r *Report) {
	for _, said := range r.Coverage() {
		t.Paragraph(0, text.Visible(said))
		t.Line()
	}
	t.title("Findings")
	if none := r.Summary(); none != "" {
		t.Paragraph(2, none)
	}
	for i, f := range r.Findings {
		if i > 0 || r.Summary() != "" {
			t.Line()
		}
		t.Line("  ", t.Styled(text.Yellow, text.Fit(f.Title(), t.Width-2)))
		t.Paragraph(2, text.Visible(f.Text))
		if f.Command != "" {
			t.Line("  ", text.Visible(f.Command))
		}
	}
}

// leastName is the width that names get if they need it. Columns are left out
// to make room for it.
const leastName = 24

func (t table) groups(r *Report, groups []*Group) {
	if len(groups) == 0 {
		return
	}
	stages, ends := stageTable(groups, text.Columns(1, "stage"), func(_ *Group, f *Figures) []string {
		return []string{text.Visible(f.Name)}
	})
	stages.Fit(t.Width-2, leastName)

	t.Line()
	t.title("Decisions by " + text.Visible(r.By))
	for i, g := range groups {
		t.Line()
		t.groupHead(r, g, 2+stages.Width())
		if ends[i] == ends[i+1] {
			continue
		}
		t.Line(t.Styled(text.Faint, "  "+stages.Head()))
		for _, line := range stages.Lines(ends[i], ends[i+1]) {
			t.Line("  ", line)
		}
	}
	if rest := restText(r, len(groups)); rest != "" {
		t.Line()
		t.Paragraph(0, rest)
	}
}

// groupHead writes the key of a group and its share. The share ends where the
// table does, if there is room.
func (t table) groupHead(r *Report, g *Group, edge int) {
	right := text.Percent(Share(g.Time, r.Total.Time)) + " of the time"
	key := text.Shorten(keyText(g.Key), t.Width-2-text.Width(right))
	t.Line(t.Styled(text.Bold, key), strings.Repeat(" ", max(2, edge-text.Width(key)-text.Width(right))), right)
	t.Paragraph(2, strings.TrimSuffix(groupText(g)+" "+r.SizesText(&g.Sizes), " "))
}

func (t table) slowest(r *Report) {
	if len(r.Slowest) == 0 {
		return
	}
	t.Line()
	t.title("Slowest decisions")
	for _, d := range r.Slowest {
		t.Line()
		left := text.Duration(float64(d.Took)) + "  "
		right := "  " + text.Time(d.Time, text.ToTheMilli)
		key := text.Shorten(keyText(d.Key), t.Width-text.Width(left)-text.Width(right))
		t.Line(left, t.Styled(text.Bold, key), right)
		id := "no id"
		if d.ID != "" {
			id = "id " + text.Fit(d.ID, t.Width-20)
		}
		if d.TraceID != "" {
			id += ", trace " + text.Fit(d.TraceID, t.Width-20)
		}
		t.Paragraph(2, d.Outcome.String()+", "+id)
		t.Line("  ", t.place(d.Place))
		t.Paragraph(2, stageTimes(d.Stages, func(stage string) string { return text.Fit(stage, 80) }))
	}
}

// place returns a place that fits into an indented line.
func (t table) place(p Place) string {
	line := fmt.Sprintf(":%d", p.Line)
	return text.Fit(p.File, t.Width-4-len(line)) + line
}

func (t table) inputs(r *Report) {
	t.Line()
	t.title("Input")
	t.Paragraph(2, inputText(r))
	for _, p := range r.Inputs.Problems {
		t.Line()
		t.Line("  ", t.Styled(text.Yellow, text.Fit(p.Kind, t.Width-24)), " ", text.Count(p.Count))
		for _, place := range p.First {
			t.Line("    ", t.place(place))
		}
		if more := p.Count - int64(len(p.First)); more > 0 {
			t.Line("    and ", text.Count(more), " more")
		}
	}
}
