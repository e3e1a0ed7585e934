// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Column describes a column of a Table.
type Column struct {
	Title string
	Left  bool // flush left; other columns are flush right
	Drop  int  // the order in which Fit leaves columns out, from 1; 0 is never

	width  int
	hidden bool
}

// Columns returns columns with these titles. The first n are flush left.
func Columns(n int, titles ...string) []Column {
	columns := make([]Column, len(titles))
	for i, title := range titles {
		columns[i] = Column{Title: title, Left: i < n}
	}
	return columns
}

// Table is a table of visible text. The first column names the rows.
type Table struct {
	Columns []Column
	rows    [][]string
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// Fit lays the table out for lines of at most the width. It leaves columns out
// until the names have the room that they need, or a width of least. It reports
// whether it kept all columns.
func (t *Table) Fit(width, least int) bool {
	for i := range t.Columns {
		c := &t.Columns[i]
		c.width, c.hidden = Width(c.Title), false
		for _, row := range t.rows {
			c.width = max(c.width, Width(row[i]))
		}
	}
	names := &t.Columns[0]
	wanted := names.width
	for drop := 1; ; drop++ {
		names.width = 0
		room := width - t.Width()
		names.width = max(1, min(wanted, room))
		if room >= min(wanted, least) {
			return drop == 1
		}
		i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Drop == drop })
		if i < 0 {
			return false
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

// Head returns the line of the titles after Fit.
func (t *Table) Head() string {
	var titles []string
	for _, c := range t.Columns {
		titles = append(titles, c.Title)
	}
	return t.line(titles)
}

// Lines returns the lines of the rows from index from to index to-1, after Fit.
func (t *Table) Lines(from, to int) (lines []string) {
	for _, row := range t.rows[from:to] {
		lines = append(lines, t.line(row))
	}
	return lines
}

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

func (t *Table) line(cells []string) string {
	var line []string
	for i, c := range t.Columns {
		cell := Shorten(cells[i], c.width)
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

// Markdown returns the table in GitHub's Markdown. It escapes bars.
func (t *Table) Markdown() string {
	var head, rules, rows strings.Builder
	escaped := func(cell string) string { return strings.ReplaceAll(cell, "|", `\|`) + " " }
	for _, c := range t.Columns {
		head.WriteString("| " + strings.TrimLeft(escaped(c.Title), " "))
		rules.WriteString("| ---")
		if !c.Left {
			rules.WriteString(":")
		}
		rules.WriteString(" ")
	}
	for _, cells := range t.rows {
		for _, cell := range cells {
			rows.WriteString("| " + escaped(cell))
		}
		rows.WriteString("|\n")
	}
	return head.String() + "|\n" + rules.String() + "|\n" + rows.String()
}

// Options says how a report or a comparison is written for a terminal.
type Options struct {
	Width  int  // the terminal's columns, at least 60; 0 stands for 80
	Top    int  // the number of groups or rows to show; 0 stands for all
	Colors bool // use the escape sequences of ANSI terminals
}

// Terminal writes lines for a terminal. Flush returns the first error.
type Terminal struct {
	*bufio.Writer
	Width  int
	colors bool
}

// NewTerminal returns a terminal that writes to w.
func NewTerminal(w io.Writer, o Options) *Terminal {
	return &Terminal{bufio.NewWriter(w), max(cmp.Or(o.Width, 80), 60), o.Colors}
}

// Line writes a line.
func (t *Terminal) Line(parts ...string) {
	for _, p := range parts {
		t.WriteString(p)
	}
	t.WriteByte('\n')
}

// widestText limits the columns of text, so that it stays legible.
const widestText = 120

// Paragraph writes visible text in lines that fit, and indents them.
func (t *Terminal) Paragraph(indent int, prose string) {
	for _, l := range Wrap(prose, min(t.Width, widestText)-indent) {
		t.Line(strings.Repeat(" ", indent), l)
	}
}

// A Style is the number of a style of ANSI terminals.
type Style int

// The styles.
const (
	Bold   Style = 1
	Faint  Style = 2
	Yellow Style = 33
)

// Styled returns text in a style if the terminal has colors.
func (t *Terminal) Styled(style Style, s string) string {
	if !t.colors || s == "" {
		return s
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", style, s)
}
