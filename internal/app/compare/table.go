// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bufio"
	"io"
	"strings"

	"github.com/regometer/regometer/internal/app/text"
)

// TableOptions says how a comparison is written as a table.
type TableOptions struct {
	Width int // columns of the terminal. 0: 80; less than 60: 60
	Top   int // how many rows are shown, the first ones. 0: all
}

// WriteTable writes a comparison for people to read in a terminal: of each row
// a line for each quantile, what is in one of the reports only, and whether
// thresholds are exceeded. No line is wider than the width: long names lose
// their middle, and columns that do not fit are left out, the least important
// first. Nothing that stands in a log reaches the terminal as a control
// character. The error is that of w.
func (c *Comparison) WriteTable(w io.Writer, o TableOptions) error {
	if o.Width == 0 {
		o.Width = 80
	}
	o.Width = max(o.Width, 60)
	t := &table{Writer: bufio.NewWriter(w), width: o.Width}
	t.line(c.summary())
	if rows := c.top(o.Top); len(rows) > 0 {
		t.line("")
		t.rows(c.By, rows)
		t.line("")
		if more := len(c.Rows) - len(rows); more > 0 {
			t.line(text.Plural(more, "row") + " more: see --top")
		}
		t.line(c.claim())
	}
	for i, only := range c.Only {
		if i == 0 {
			t.line("")
		}
		if o.Top > 0 && i == o.Top {
			t.line("and " + text.Count(len(c.Only)-i) + " more in one only: see --top")
			break
		}
		t.pair(strings.TrimSpace(text.Visible(only.Key)+" "+text.Visible(only.Stage)), only.counts())
	}
	for i, threshold := range c.Thresholds {
		if i == 0 {
			t.line("")
		}
		t.pair(text.Visible(threshold.String()), c.verdict(threshold))
	}
	return t.Flush()
}

// table is a table that is being written. An error stays in its Writer.
type table struct {
	*bufio.Writer
	width int
}

func (t *table) line(s string) { t.WriteString(strings.TrimRight(s, " ") + "\n") }

// pair writes a name, shortened if need be, and what there is to say of it.
func (t *table) pair(name, what string) {
	t.line(text.Shorten(name, t.width-2-text.Width(what)) + "  " + what)
}

// columns are how many columns a table has beside its names.
const columns = 5

var titles = [columns]string{"", "BEFORE", "AFTER", "CHANGE IN %", "IMPACT"}

// left tells which columns are flush left.
var left = [columns]bool{0: true, 3: true}

// rows writes the table with as much detail as leaves room for the names.
func (t *table) rows(by string, rows []Row) {
	title := strings.ToUpper(text.Visible(by)) + " / STAGE"
	longest := text.Width(title)
	for _, r := range rows {
		longest = max(longest, text.Width(text.Visible(r.Key)), 2+text.Width(text.Visible(r.Stage)))
	}
	for detail := range 4 {
		hidden := [columns]bool{1: detail >= 2, 4: detail >= 3}
		lines := [][columns]string{titles}
		for _, r := range rows {
			for i, ch := range r.Changes {
				cells := [columns]string{name(ch.Quantile), text.Duration(ch.Before), text.Duration(ch.After), ch.text(detail == 0), ""}
				if i == 0 {
					cells[4] = signed(r.Impact)
				}
				lines = append(lines, cells)
			}
		}
		var widths [columns]int
		room := t.width
		for i := range columns {
			if hidden[i] {
				continue
			}
			for _, cells := range lines {
				widths[i] = max(widths[i], text.Width(cells[i]))
			}
			room -= 2 + widths[i]
		}
		if room < min(longest, 16) && detail < 3 {
			continue
		}
		room = max(min(room, longest), 1)
		write := func(name string, cells [columns]string) {
			line := text.Pad(text.Shorten(name, room), room)
			for i, cell := range cells {
				if hidden[i] {
					continue
				}
				if left[i] {
					line += "  " + text.Pad(cell, widths[i])
				} else {
					line += "  " + text.PadLeft(cell, widths[i])
				}
			}
			t.line(line)
		}
		write(title, titles)
		next := lines[1:]
		for _, r := range rows {
			names := []string{text.Visible(r.Key), "  " + text.Visible(r.Stage)}
			for i := range max(len(names), len(r.Changes)) {
				var cells [columns]string
				if i < len(r.Changes) {
					cells, next = next[0], next[1:]
				}
				label := ""
				if i < len(names) {
					label = names[i]
				}
				write(label, cells)
			}
		}
		return
	}
}
