// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bufio"
	"io"
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
	table := func(rows []Row) {
		table := tableOf(c.By, rows, t.Width)
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
	table := func(rows []Row) {
		t := text.Table{Columns: text.Columns(3, text.Code(c.By), "stage", "", "before", "after", "change in %", "impact")}
		t.Columns[5].Left = true
		for _, r := range rows {
			for _, ch := range r.Changes {
				t.Add(text.Code(r.Key), text.Code(r.Stage), name(ch.Quantile),
					text.Duration(ch.Before), text.Duration(ch.After), ch.text(true), signed(r.Impact))
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

// write calls line for each line of text, table for the first top rows, or all
// if top is 0, and item for each remark.
func (c *Comparison) write(top int, line func(string), table func([]Row), item func(remark)) {
	line(c.summary())
	rows := c.Rows
	if top > 0 {
		rows = rows[:min(top, len(rows))]
	}
	if len(rows) > 0 {
		line("")
		table(rows)
		line("")
		if more := len(c.Rows) - len(rows); more > 0 {
			line(text.Plural(more, "row") + " more: see --top")
		}
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
func tableOf(by string, rows []Row, width int) *text.Table {
	const leastName = 16 // columns that names get if they need them
	var t *text.Table
	for _, detailed := range []bool{true, false} {
		t = &text.Table{Columns: []text.Column{
			{Title: strings.ToUpper(text.Visible(by)) + " / STAGE", Left: true}, {Left: true}, {Title: "BEFORE", Drop: 1},
			{Title: "AFTER"}, {Title: "CHANGE IN %", Left: true}, {Title: "IMPACT", Drop: 2},
		}}
		for _, r := range rows {
			names := []string{text.Visible(r.Key), "  " + text.Visible(r.Stage)}
			for i := range max(len(names), len(r.Changes)) {
				cells := make([]string, len(t.Columns))
				if i < len(names) {
					cells[0] = names[i]
				}
				if i < len(r.Changes) {
					ch := r.Changes[i]
					copy(cells[1:], []string{name(ch.Quantile), text.Duration(ch.Before), text.Duration(ch.After), ch.text(detailed)})
				}
				if i == 0 && len(r.Changes) > 0 {
					cells[5] = signed(r.Impact)
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
