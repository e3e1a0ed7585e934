// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// terminal writes for a terminal. No line is wider than the terminal, except
// commands, which people copy: long names lose their middle, and columns that
// do not fit are left out, the least important ones first. No control character
// reaches the terminal.
type terminal struct {
	blocks
	width  int
	colors bool
}

// The styles of ANSI terminals.
const bold, faint, yellow = 1, 2, 33

func (t *terminal) styled(style int, s string) string {
	if !t.colors || s == "" {
		return s
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", style, s)
}

func (t *terminal) line(parts ...string) {
	for _, p := range parts {
		t.WriteString(p)
	}
	t.WriteByte('\n')
}

// widestText limits the columns of prose, so that it stays legible.
const widestText = 120

func (t *terminal) paragraph(indent, prose string) {
	for _, l := range text.Wrap(text.Visible(prose), min(t.width, widestText)-len(indent)) {
		t.line(indent, l)
	}
}

func (t *terminal) Title(title string) {
	t.begin()
	t.line(t.styled(bold, text.Fit(title, t.width)))
	t.hasText = false
}

func (t *terminal) Prose(prose string) {
	t.begin()
	t.paragraph("", prose)
}

func (t *terminal) Item(name, prose, command string) {
	t.begin()
	t.line("  ", t.styled(yellow, text.Fit(name, t.width-2)))
	t.paragraph("  ", prose)
	if command != "" {
		t.line("  ", text.Visible(command))
	}
}

// leastName is the width that names get if they need it. Columns are left out
// to make room for it.
const leastName = 24

func (t *terminal) Table(of *text.Table) {
	t.begin()
	of.Fit(t.width, leastName)
	t.lines("", of)
}

func (t *terminal) lines(indent string, of *text.Table) {
	for i, line := range of.Lines() {
		if line = indent + line; i == 0 {
			line = t.styled(faint, line)
		}
		t.line(line)
	}
}

// Sections writes the share of a section where the table ends, if there is room.
func (t *terminal) Sections(of *text.Table, sections []Section) {
	of.Fit(t.width-2, leastName)
	for _, s := range sections {
		t.begin()
		name := text.Fit(s.Name, t.width-2-text.Width(s.Share))
		t.line(t.styled(bold, name), strings.Repeat(" ", max(2, 2+of.Width()-text.Width(name)-text.Width(s.Share))), s.Share)
		t.paragraph("  ", s.Prose)
		if s.Rows != nil {
			t.lines("  ", &text.Table{Columns: of.Columns, Rows: s.Rows})
		}
	}
}
