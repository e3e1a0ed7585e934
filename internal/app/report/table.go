// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/app/sum"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// TableOptions says how a table is written.
type TableOptions struct {
	Width  int  // columns of the terminal. 0: 80; less than 60: 60
	Top    int  // how many groups are shown, the first ones. 0: all
	Colors bool // by escape sequences of ANSI terminals
}

// WriteTable writes a report for people to read in a terminal: the findings,
// for each group its stages by self time, the slowest decisions if there are
// any, and what was read. No line is wider than the width: long names lose
// their middle, and columns that do not fit are left out, the least important
// first. Nothing that stands in a log reaches the terminal as a control
// character. The error is that of w.
func WriteTable(w io.Writer, r *Report, o TableOptions) error {
	t := table{Writer: bufio.NewWriter(w), width: o.Width, colors: o.Colors}
	if t.width == 0 {
		t.width = 80
	}
	t.width = max(t.width, 60)
	t.findings(r)
	t.groups(r, shown(r, o.Top))
	t.slowest(r)
	t.inputs(r)
	return t.Flush()
}

// shown returns the groups that are shown.
func shown(r *Report, top int) []*Group {
	if top <= 0 || top > r.Groups.Len() {
		top = r.Groups.Len()
	}
	groups := make([]*Group, top)
	for i := range groups {
		groups[i] = r.Groups.Sum(i)
	}
	return groups
}

// summary returns what there is to say if there are no findings.
func summary(r *Report) string {
	if r.Total.Decisions == 0 {
		return "There are no decisions."
	}
	return fmt.Sprintf("Nothing stands out: of %d rules, none has anything to say of these %s decisions.",
		len(rules), text.Count(r.Total.Decisions))
}

// table is a table that is being written. An error stays in its Writer.
type table struct {
	*bufio.Writer
	width  int
	colors bool
}

// The styles, as ANSI terminals number them.
const (
	bold   = 1
	faint  = 2
	yellow = 33
)

// styled returns text in a style, if there are colours.
func (t *table) styled(style int, text string) string {
	if !t.colors || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", style, text)
}

func (t *table) line(parts ...string) {
	for _, p := range parts {
		t.WriteString(p)
	}
	t.WriteByte('\n')
}

// widestText is the most columns that text takes, for it to be legible.
const widestText = 120

// paragraph writes wrapped text, all lines of it indented.
func (t *table) paragraph(indent int, prose string) {
	for _, l := range text.Wrap(prose, min(t.width, widestText)-indent) {
		t.line(strings.Repeat(" ", indent), l)
	}
}

func (t *table) findings(r *Report) {
	t.line(t.styled(bold, "Findings"))
	if len(r.Findings) == 0 {
		t.paragraph(2, summary(r))
	}
	for i, f := range r.Findings {
		if i > 0 {
			t.line()
		}
		t.line("  ", t.styled(yellow, text.Fit(f.Rule, t.width-2)))
		t.paragraph(2, text.Visible(f.Text))
	}
}

// column is a column of figures of the stages.
type column struct {
	title string
	cell  func(f *figures, g *Group) string
	drop  int // when it is left out for want of width, 1 first; 0 never
	width int
}

func stageColumns() []column {
	columns := []column{
		{title: "share", cell: func(f *figures, g *Group) string { return text.Percent(sum.Share(f.Self, g.Time)) }},
		{title: "count", drop: 4, cell: func(f *figures, _ *Group) string { return text.Count(f.Count) }},
	}
	for i, drop := range [len(ranks)]int{6, 2, 1, 0, 3} {
		columns = append(columns, column{title: quantileNames[i], drop: drop, cell: func(f *figures, _ *Group) string {
			return f.time(f.Quantiles[i])
		}})
	}
	return append(columns, column{title: "max", drop: 5, cell: func(f *figures, _ *Group) string { return f.time(f.Max) }})
}

// time writes a time of a stage, which has none if it never finished.
func (f *figures) time(ns int64) string {
	if f.Count == 0 {
		return text.None
	}
	return text.Duration(float64(ns))
}

// leastName is the width of names that columns give way to.
const leastName = 24

func (t *table) groups(r *Report, groups []*Group) {
	if len(groups) == 0 {
		return
	}
	columns, names := stageColumns(), 0
	stages := make([][]figures, len(groups))
	for i := range groups {
		stages[i] = byTime(groups[i])
		for s := range stages[i] {
			f := &stages[i][s]
			f.Name = text.Visible(f.Name)
			names = max(names, text.Width(f.Name))
			for c := range columns {
				columns[c].width = max(columns[c].width, text.Width(columns[c].title), text.Width(columns[c].cell(f, groups[i])))
			}
		}
	}
	columns, names = t.fit(columns, names)

	edge := 2 + names // where the table ends
	for _, c := range columns {
		edge += 2 + c.width
	}

	t.line()
	t.line(t.styled(bold, text.Shorten("Decisions by "+text.Visible(r.By), t.width)))
	for i := range groups {
		g := groups[i]
		t.line()
		t.groupHead(r, g, edge)
		t.stages(g, stages[i], columns, names)
	}
	t.rest(r, len(groups))
}

// fit leaves out columns until names have enough room, and returns how much
// they have.
func (t *table) fit(columns []column, names int) ([]column, int) {
	room := func() int {
		left := t.width - 2
		for _, c := range columns {
			left -= 2 + c.width
		}
		return left
	}
	for drop := 1; room() < min(names, leastName); drop++ {
		at := slices.IndexFunc(columns, func(c column) bool { return c.drop == drop })
		if at < 0 {
			break
		}
		columns = slices.Delete(columns, at, at+1)
	}
	return columns, max(1, min(names, room()))
}

// groupHead writes the key of a group and its share, which ends where the table
// does, if there is room.
func (t *table) groupHead(r *Report, g *Group, edge int) {
	right := text.Percent(sum.Share(g.Time, r.Total.Time)) + " of the time"
	key := text.Shorten(keyText(g.Key), t.width-2-text.Width(right))
	t.line(t.styled(bold, key), strings.Repeat(" ", max(2, edge-text.Width(key)-text.Width(right))), right)
	t.paragraph(2, groupText(g))
}

// keyText returns the key of a group as it is shown.
func keyText(key string) string {
	return cmp.Or(text.Visible(key), text.Empty)
}

// groupText says in words how a group's decisions ended.
func groupText(g *Group) string {
	words := text.Plural(g.Decisions, "decision")
	separator := ": "
	for o, n := range g.Outcomes {
		if n > 0 {
			words += separator + text.Count(n) + " " + outcomeWords[o]
			separator = ", "
		}
	}
	words += "."
	if codes := errorCodes(g.Errors); codes != "" {
		words += " Errors: " + codes + "."
	}
	if hits, ok := queryCacheHits(&g.Group); ok {
		words += " Query cache: " + text.Percent(hits) + " hits."
	}
	return words
}

var outcomeWords = [len(groupby.Group{}.Outcomes)]string{
	rollup.Allowed:     "allowed",
	rollup.Denied:      "denied",
	rollup.OtherResult: "with another result",
	rollup.Undefined:   "undefined",
	rollup.Error:       "failed",
	rollup.Cancelled:   "cancelled",
}

// errorCodes lists the three most frequent codes.
func errorCodes(errors []rollup.ErrorTotal) string {
	sorted := slices.Clone(errors)
	slices.SortStableFunc(sorted, func(a, b rollup.ErrorTotal) int { return cmp.Compare(b.Total, a.Total) })
	var codes []string
	for _, e := range sorted[:min(3, len(sorted))] {
		codes = append(codes, text.Fit(e.Code, 80)+" "+text.Count(e.Total))
	}
	return listed(codes, len(errors))
}

func (t *table) stages(g *Group, stages []figures, columns []column, names int) {
	if len(stages) == 0 {
		return
	}
	head := "  " + text.Pad("stage", names)
	for _, c := range columns {
		head += "  " + text.PadLeft(c.title, c.width)
	}
	t.line(t.styled(faint, head))
	for i := range stages {
		f := &stages[i]
		t.WriteString("  " + text.Pad(text.Shorten(f.Name, names), names))
		for _, c := range columns {
			t.WriteString("  " + text.PadLeft(c.cell(f, g), c.width))
		}
		t.line()
	}
}

// rest tells of the groups that are not shown.
func (t *table) rest(r *Report, shown int) {
	if text := restText(r, shown); text != "" {
		t.line()
		t.paragraph(0, text)
	}
}

func restText(r *Report, shown int) string {
	hidden := r.Groups.Len() - shown
	if hidden == 0 {
		return ""
	}
	decisions, part := uint64(0), 0.0
	for i, g := range r.Groups.Sums() {
		if i >= shown {
			decisions += g.Decisions
			part += sum.Share(g.Time, r.Total.Time)
		}
	}
	return fmt.Sprintf("%s of %s groups are not shown, which have %s decisions and %s of the time: see --top.",
		text.Count(hidden), text.Count(r.Groups.Len()), text.Count(decisions), text.Percent(part))
}

func (t *table) slowest(r *Report) {
	if len(r.Slowest) == 0 {
		return
	}
	t.line()
	t.line(t.styled(bold, "Slowest decisions"))
	for i := range r.Slowest {
		d := &r.Slowest[i]
		t.line()
		left := text.Duration(float64(d.Took)) + "  "
		right := "  " + text.Time(d.Time, text.ToTheMilli)
		key := text.Shorten(keyText(d.Key), t.width-text.Width(left)-text.Width(right))
		t.line(left, t.styled(bold, key), right)
		id := "no id"
		if d.ID != "" {
			id = "id " + text.Fit(d.ID, t.width-20)
		}
		t.paragraph(2, d.Outcome.String()+", "+id)
		t.line("  ", t.place(d.Place))
		t.paragraph(2, stageTimes(d.Stages))
	}
}

func stageTimes(stages []StageTime) string {
	var times []string
	for _, s := range stages {
		times = append(times, text.Fit(s.Stage, 80)+" "+text.Duration(float64(s.Took)))
	}
	return strings.Join(times, ", ")
}

// place writes a place that fits into an indented line.
func (t *table) place(p Place) string {
	line := fmt.Sprintf(":%d", p.Line)
	return text.Fit(p.File, t.width-4-len(line)) + line
}

func (t *table) inputs(r *Report) {
	t.line()
	t.line(t.styled(bold, "Input"))
	t.paragraph(2, inputText(r))
	for _, p := range r.Inputs.Problems {
		t.line()
		t.line("  ", t.styled(yellow, text.Fit(p.Kind, t.width-24)), " ", text.Count(p.Count))
		for _, place := range p.First {
			t.line("    ", t.place(place))
		}
		if more := p.Count - int64(len(p.First)); more > 0 {
			t.line("    and ", text.Count(more), " more")
		}
	}
}

// inputText says what was read.
func inputText(r *Report) string {
	in := r.Inputs
	words := fmt.Sprintf("%s, %s: %s, %s.", text.Plural(in.Files, "file"), text.Bytes(in.Bytes),
		text.Plural(in.Decisions, "decision"), text.Plural(in.OtherLines, "other line"))
	if r.From != decisionlog.NoTime {
		words += fmt.Sprintf(" From %s to %s UTC.", text.Time(r.From, text.ToTheSecond), text.Time(r.To, text.ToTheSecond))
	}
	if len(r.Inputs.Problems) == 0 {
		words += " No problems."
	}
	return words
}
