// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"io"
	"strings"

	"github.com/regometer/regometer/internal/app/text"
)

// WriteTable writes a comparison for people to read in a terminal: a line for
// each quantile of a row, then what is in one report only, and whether
// thresholds are exceeded. No line is wider than the terminal: long names lose
// their middle, and columns that do not fit are left out, the least important
// ones first. A control character in a log does not reach the terminal. The
// error is that of w.
func (c *Comparison) WriteTable(w io.Writer, o text.Options) error {
	t := text.NewTerminal(w, o)
	t.Line(c.summary())
	if rows := c.top(o.Top); len(rows) > 0 {
		t.Line()
		table := tableOf(c.By, rows, t.Width)
		t.Line(table.Head())
		for _, line := range table.Lines(0, table.Len()) {
			t.Line(line)
		}
		t.Line()
		if more := len(c.Rows) - len(rows); more > 0 {
			t.Line(text.Plural(more, "row"), " more: see --top")
		}
		t.Line(c.claim())
	}
	for _, list := range c.remarks(o.Top) {
		t.Line()
		for _, r := range list {
			if len(r.names) == 0 {
				t.Line(r.text)
				continue
			}
			name := strings.TrimSpace(text.Visible(strings.Join(r.names, " ")))
			t.Line(text.Shorten(name, t.Width-2-text.Width(r.text)), "  ", r.text)
		}
	}
	return t.Flush()
}

// tableOf returns the table of the rows with as much detail as leaves room for
// the names.
func tableOf(by string, rows []Row, width int) *text.Table {
	const leastName = 16
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
