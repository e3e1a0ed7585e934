// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/regometer/regometer/internal/app/text"
)

// WriteMarkdown writes the content of WriteTable as GitHub's Markdown, with the
// first top groups, or all if top is 0. Text from a log is written as code, so
// that it is neither a link nor a mention nor HTML. The error is that of w.
func WriteMarkdown(w io.Writer, r *Report, top int) error {
	m := markdown{bufio.NewWriter(w)}
	m.findings(r)
	m.groups(r, shown(r, top))
	m.slowest(r)
	m.inputs(r)
	return m.Flush()
}

// markdown writes Markdown. Flush returns the first error.
type markdown struct{ *bufio.Writer }

func (m markdown) line(text string) { m.WriteString(text + "\n") }

func (m markdown) table(t *text.Table) { m.line("\n" + strings.TrimSuffix(t.Markdown(), "\n")) }

func (m markdown) findings(r *Report) {
	for _, said := range r.Coverage() {
		m.line(prose(said) + "\n")
	}
	m.line("## Findings\n")
	if none := r.Summary(); none != "" {
		m.line(prose(none) + "\n")
	}
	for _, f := range r.Findings {
		m.line("- " + text.Code(f.Title()) + ": " + prose(f.Text))
		if f.Command != "" {
			m.line("\n  ```sh\n  " + text.Visible(f.Command) + "\n  ```\n")
		}
	}
}

func (m markdown) groups(r *Report, groups []*Group) {
	if len(groups) == 0 {
		return
	}
	by := text.Code(r.By)
	all := text.Table{Columns: text.Columns(1, append(append([]string{by, "share of time", "decisions"}, outcomeWords[:]...), "query cache hits", "bytes", "largest event")...)}
	stages, _ := stageTable(groups, text.Columns(2, by, "stage"), func(g *Group, f *Figures) []string {
		return []string{text.Code(g.Key), text.Code(f.Name)}
	})
	errors := text.Table{Columns: text.Columns(2, by, "error", "decisions")}
	for _, g := range groups {
		key := text.Code(g.Key)
		row := []string{key, text.Percent(Share(g.Time, r.Total.Time)), text.Count(g.Decisions)}
		for _, n := range g.Outcomes {
			row = append(row, text.Count(n))
		}
		hits := text.None
		if part, ok := queryCacheHits(&g.Group); ok {
			hits = text.Percent(part)
		}
		all.Add(append(row, hits, bytesText(g.Sizes.Total), bytesText(g.Sizes.Max))...)
		for _, e := range g.Errors {
			errors.Add(key, text.Code(e.Code), text.Count(e.Total))
		}
	}
	m.line("\n## Decisions by " + by)
	m.table(&all)
	if rest := restText(r, len(groups)); rest != "" {
		m.line("\n" + strings.ReplaceAll(rest, "--top", text.Code("--top")))
	}
	m.line("\n## Stages")
	m.table(&stages)
	if errors.Len() > 0 {
		m.line("\n## Errors")
		m.table(&errors)
	}
}

func (m markdown) slowest(r *Report) {
	if len(r.Slowest) == 0 {
		return
	}
	t := text.Table{Columns: text.Columns(6, "time (UTC)", text.Code(r.By), "id", "outcome", "stages", "place", "took")}
	for _, d := range r.Slowest {
		t.Add(text.Time(d.Time, text.ToTheMilli), text.Code(d.Key), text.Code(d.IDs()), d.Outcome.String(),
			stageTimes(d.Stages, text.Code), placeCode(d.Place), text.Duration(float64(d.Took)))
	}
	m.line("\n## Slowest decisions")
	m.table(&t)
}

func (m markdown) inputs(r *Report) {
	m.line("\n## Input\n")
	m.line(inputText(r))
	if len(r.Inputs.Problems) == 0 {
		return
	}
	t := text.Table{Columns: text.Columns(2, "problem", "first", "count")}
	for _, p := range r.Inputs.Problems {
		var places []string
		for _, place := range p.First {
			places = append(places, placeCode(place))
		}
		t.Add(text.Code(p.Kind), strings.Join(places, ", "), text.Count(p.Count))
	}
	m.table(&t)
}

func placeCode(p Place) string { return text.Code(p.File + ":" + strconv.FormatInt(p.Line, 10)) }

// prose returns the text of a finding. Text between backticks becomes code.
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

// proseEscapes escapes what Markdown would interpret within a line.
var proseEscapes = strings.NewReplacer(
	`\`, `\\`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "~", `\~`, "|", `\|`)
