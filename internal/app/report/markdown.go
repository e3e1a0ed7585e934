// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/regometer/regometer/internal/app/sum"
	"github.com/regometer/regometer/internal/app/text"
)

// MarkdownOptions says how a report is written as Markdown.
type MarkdownOptions struct {
	Top int // how many groups are shown, the first ones. 0: all
}

// WriteMarkdown writes what WriteTable does, as GitHub's Markdown. What stands
// in a log is written as code, where nothing has a meaning: neither links nor
// mentions nor HTML. The error is that of w.
func WriteMarkdown(w io.Writer, r *Report, o MarkdownOptions) error {
	m := markdown{bufio.NewWriter(w)}
	m.findings(r)
	m.groups(r, shown(r, o.Top))
	m.slowest(r)
	m.inputs(r)
	return m.Flush()
}

// markdown is Markdown that is being written. An error stays in its Writer.
type markdown struct{ *bufio.Writer }

func (m markdown) line(text string) { m.WriteString(text + "\n") }

// row writes a row of a table, in which also code has to escape bars.
func (m markdown) row(cells []string) {
	for _, c := range cells {
		m.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
	}
	m.line("|")
}

// head begins a table. Of its columns, the first so many are text.
func (m markdown) head(text int, titles ...string) {
	m.line("")
	m.row(titles)
	rules := make([]string, len(titles))
	for i := range rules {
		if rules[i] = "---"; i >= text {
			rules[i] = "---:"
		}
	}
	m.row(rules)
}

func (m markdown) findings(r *Report) {
	m.line("## Findings\n")
	if len(r.Findings) == 0 {
		m.line(summary(r))
	}
	for _, f := range r.Findings {
		m.line("- " + text.Code(f.Rule) + ": " + prose(f.Text))
	}
}

func (m markdown) groups(r *Report, groups []*Group) {
	if len(groups) == 0 {
		return
	}
	m.line("\n## Decisions by " + text.Code(r.By))
	titles := []string{text.Code(r.By), "share of time", "decisions"}
	m.head(1, append(append(titles, outcomeWords[:]...), "query cache hits")...)
	for i := range groups {
		g := groups[i]
		row := []string{text.Code(g.Key), text.Percent(sum.Share(g.Time, r.Total.Time)), text.Count(g.Decisions)}
		for _, n := range g.Outcomes {
			row = append(row, text.Count(n))
		}
		if hits, ok := queryCacheHits(&g.Group); ok {
			row = append(row, text.Percent(hits))
		} else {
			row = append(row, text.None)
		}
		m.row(row)
	}
	if rest := restText(r, len(groups)); rest != "" {
		m.line("\n" + strings.ReplaceAll(rest, "--top", text.Code("--top")))
	}

	m.line("\n## Stages")
	columns := stageColumns()
	titles = []string{text.Code(r.By), "stage"}
	for _, c := range columns {
		titles = append(titles, c.title)
	}
	m.head(2, titles...)
	for i := range groups {
		g := groups[i]
		for _, f := range byTime(g) {
			row := []string{text.Code(g.Key), text.Code(f.Name)}
			for _, c := range columns {
				row = append(row, c.cell(&f, g))
			}
			m.row(row)
		}
	}
	m.errors(r, groups)
}

func (m markdown) errors(r *Report, groups []*Group) {
	first := true
	for i := range groups {
		for _, e := range groups[i].Errors {
			if first {
				m.line("\n## Errors")
				m.head(2, text.Code(r.By), "error", "decisions")
				first = false
			}
			m.row([]string{text.Code(groups[i].Key), text.Code(e.Code), text.Count(e.Total)})
		}
	}
}

func (m markdown) slowest(r *Report) {
	if len(r.Slowest) == 0 {
		return
	}
	m.line("\n## Slowest decisions")
	m.head(6, "time (UTC)", text.Code(r.By), "id", "outcome", "stages", "place", "took")
	for i := range r.Slowest {
		d := &r.Slowest[i]
		var stages []string
		for _, s := range d.Stages {
			stages = append(stages, text.Code(s.Stage)+" "+text.Duration(float64(s.Took)))
		}
		m.row([]string{
			text.Time(d.Time, text.ToTheMilli), text.Code(d.Key), text.Code(d.ID), d.Outcome.String(),
			strings.Join(stages, ", "), placeCode(d.Place), text.Duration(float64(d.Took)),
		})
	}
}

func (m markdown) inputs(r *Report) {
	m.line("\n## Input\n")
	m.line(inputText(r))
	if len(r.Inputs.Problems) == 0 {
		return
	}
	m.head(2, "problem", "first", "count")
	for _, p := range r.Inputs.Problems {
		var places []string
		for _, place := range p.First {
			places = append(places, placeCode(place))
		}
		m.row([]string{text.Code(p.Kind), strings.Join(places, ", "), text.Count(p.Count)})
	}
}

func placeCode(p Place) string { return text.Code(p.File + ":" + strconv.FormatInt(p.Line, 10)) }

// prose returns the text of a finding, in which what stands between backticks
// becomes code.
func prose(s string) string {
	var b strings.Builder
	parts := strings.Split(s, "`")
	for i, part := range parts {
		if i%2 == 1 && i < len(parts)-1 {
			b.WriteString(text.Code(part))
			continue
		}
		b.WriteString(proseEscapes.Replace(text.Visible(part)))
	}
	return b.String()
}

// proseEscapes takes the meaning from what may have one within a line.
var proseEscapes = strings.NewReplacer(
	`\`, `\\`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "~", `\~`, "|", `\|`)
