// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bufio"
	"cmp"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/regometer/regometer/internal/app/text"
)

// WriteTable writes a comparison for people to read in a terminal. It writes a
// line for each quantile of a row, then the groups and stages that only one
// report has, and then whether thresholds are exceeded. No line is wider than
// the terminal: long names lose their middle, and columns that do not fit are
// left out, the least important ones first. No control character from a log
// reaches the terminal. The error is that of w.
func (c *Comparison) WriteTable(w io.Writer, o text.Options) error {
	t := text.NewTerminal(w, o)
	table := func(rows []Row, titles ...string) {
		table := tableOf(rows, t.Width, titles)
		t.Line(table.Head())
		for _, line := range table.Lines(0, table.Len()) {
			t.Line(line)
		}
	}
	line := func(line string) {
		if line == "" {
			t.Line()
		}
		for _, part := range text.Wrap(line, t.Width) {
			t.Line(part)
		}
	}
	c.write(o.Top, line, table, func(r remark) {
		if len(r.names) == 0 {
			t.Line(r.text)
			return
		}
		name := strings.TrimSpace(text.Visible(strings.Join(r.names, " ")))
		t.Line(text.Shorten(name, t.Width-2-text.Width(r.text)), "  ", r.text)
	})
	return t.Flush()
}

// WriteMarkdown writes the content of WriteTable as GitHub's Markdown, with the
// first top rows, or all if top is 0. Text from a log is written as code, so
// that it is neither a link nor a mention nor HTML. The error is that of w.
func (c *Comparison) WriteMarkdown(w io.Writer, top int) error {
	m := bufio.NewWriter(w)
	flags := strings.NewReplacer("--top", "`--top`", "--path", "`--path`", "--stage", "`--stage`")
	line := func(s string) { m.WriteString(flags.Replace(s) + "\n") }
	table := func(rows []Row, titles ...string) {
		t := text.Table{Columns: text.Columns(2, titles...)}
		t.Columns[0].Title, t.Columns[4].Left = text.Code(titles[0]), true
		for _, r := range rows {
			name := text.Code(r.Key)
			if r.Stage != "" {
				name += " " + text.Code(r.Stage)
			}
			for _, ch := range r.Changes {
				t.Add(name, ch.Name, ch.value(ch.Before), ch.value(ch.After), ch.text(true), r.impact())
			}
		}
		m.WriteString(t.Markdown())
	}
	c.write(top, line, table, func(r remark) {
		m.WriteString("- ")
		for _, name := range r.names {
			m.WriteString(text.Code(name) + " ")
		}
		line(r.text)
	})
	return m.Flush()
}

// write calls line for each line of text, table for the first top rows of the
// decisions and of the stages, or all if top is 0, and item for each remark. If
// top is not 0, decisions that did not change have only the outcome that differs
// most.
func (c *Comparison) write(top int, line func(string), table func(rows []Row, titles ...string), item func(remark)) {
	line(c.summary())
	part := func(all []Row, titles ...string) {
		if len(all) == 0 {
			return
		}
		rows := all
		if top > 0 {
			rows = slices.Clone(all[:min(top, len(all))])
			for i, r := range rows {
				if r.Stage == "" && r.Verdict != Changed {
					rows[i].Changes = []Change{slices.MaxFunc(r.Changes, func(a, b Change) int { return cmp.Compare(math.Abs(a.Change), math.Abs(b.Change)) })}
				}
			}
		}
		line("")
		table(rows, titles...)
		if more := len(all) - len(rows); more > 0 {
			line("")
			line(text.Plural(more, "row") + " more: see --top")
		}
	}
	part(c.Decisions, c.By, "outcome", "before", "after", "change in pp", "decisions")
	part(c.Stages, c.By+" / stage", "", "before", "after", "change in %", "impact")
	if len(c.Decisions) > 0 {
		line("")
		line(c.claim())
	}
	for _, list := range c.remarks(top) {
		line("")
		for _, r := range list {
			item(r)
		}
	}
}

// tableOf returns the table of the rows, with intervals if they leave room for
// the names.
func tableOf(rows []Row, width int, titles []string) *text.Table {
	const leastName = 16 // columns that names get if they need them
	var t *text.Table
	for _, detailed := range []bool{true, false} {
		t = &text.Table{Columns: text.Columns(2, titles...)}
		for i := range t.Columns {
			t.Columns[i].Title = strings.ToUpper(text.Visible(titles[i]))
		}
		t.Columns[2].Drop, t.Columns[4].Left, t.Columns[5].Drop = 1, true, 2
		if rows[0].Stage == "" { // the share before matters more
			t.Columns[2].Drop, t.Columns[5].Drop = 2, 1
		}
		for _, r := range rows {
			names := []string{text.Visible(r.Key)}
			if r.Stage != "" {
				names = append(names, "  "+text.Visible(r.Stage))
			}
			for i := range max(len(names), len(r.Changes)) {
				cells := make([]string, len(t.Columns))
				if i < len(names) {
					cells[0] = names[i]
				}
				if i < len(r.Changes) {
					ch := r.Changes[i]
					copy(cells[1:], []string{ch.Name, ch.value(ch.Before), ch.value(ch.After), ch.text(detailed)})
				}
				if i == 0 && len(r.Changes) > 0 {
					cells[5] = r.impact()
				}
				t.Add(cells...)
			}
		}
		if t.Fit(width, leastName) {
			break
		}
	}
	return t
}
