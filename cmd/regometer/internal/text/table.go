// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strings"
)

// Column describes a column of a Table.
type Column struct {
	Title string
	Left  bool // flush left; other columns are flush right
	Name  bool // the cells are names from a log, with any characters
	Drop  int  // the order in which Fit leaves columns out, from 1; 0 is never

	width  int
	hidden bool
}

// Table is a table. The first column names the rows.
type Table struct {
	Columns []Column
	Rows    [][]string
}

// NewTable returns a table with these titles. The first n columns have names.
func NewTable(n int, titles ...string) *Table {
	t := new(Table)
	for i, title := range titles {
		t.Columns = append(t.Columns, Column{Title: title, Left: i < n, Name: i < n})
	}
	return t
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// First returns the first n rows of a table, or all if n is 0.
func First[T any](all []T, n int) []T {
	if n == 0 {
		return all
	}
	return all[:min(n, len(all))]
}

// Fit lays the table out for lines of at most the width. It leaves columns out
// until the names have the room that they need, or a width of least.
func (t *Table) Fit(width, least int) {
	for i := range t.Columns {
		c := &t.Columns[i]
		c.width, c.hidden = Width(Visible(c.Title)), false
		for _, row := range t.Rows {
			c.width = max(c.width, Width(c.visible(row[i])))
		}
	}
	names := &t.Columns[0]
	wanted := names.width
	for drop := 1; ; drop++ {
		names.width = 0
		room := width - t.Width()
		names.width = max(1, min(wanted, room))
		i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Drop == drop })
		if room >= min(wanted, least) || i < 0 {
			return
		}
		t.Columns[i].hidden = true
	}
}

// Width returns the width of the lines after Fit.
func (t *Table) Width() int {
	width := -2
	for _, c := range t.Columns {
		if !c.hidden {
			width += 2 + c.width
		}
	}
	return width
}

// Lines returns the line of the titles and those of the rows after Fit.
func (t *Table) Lines() []string {
	var titles []string
	for _, c := range t.Columns {
		titles = append(titles, Visible(c.Title))
	}
	lines := []string{t.line(titles)}
	for _, row := range t.Rows {
		lines = append(lines, t.line(row))
	}
	return lines
}

func (c *Column) visible(cell string) string {
	if c.Name {
		return Visible(cell)
	}
	return cell
}

func (t *Table) line(cells []string) string {
	var line []string
	for i, c := range t.Columns {
		cell := Shorten(c.visible(cells[i]), c.width)
		spaces := strings.Repeat(" ", c.width-Width(cell))
		switch {
		case c.hidden:
		case c.Left:
			line = append(line, cell+spaces)
		default:
			line = append(line, spaces+cell)
		}
	}
	return strings.TrimRight(strings.Join(line, "  "), " ")
}
