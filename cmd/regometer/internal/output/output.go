// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package output writes a result for people and for programs. Each form has a
// file.
package output

import (
	"bufio"
	"cmp"
	"io"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// A Result is a report or a comparison.
type Result interface {
	// Write writes the first top rows or groups for people, or all if top is 0.
	Write(w Writer, top int)
	WriteJSON(w io.Writer) error
	// Checks returns what a pipeline checks. Checks that failOn names fail if
	// they find something.
	Checks(failOn []string) []Check
}

// A Writer writes blocks in a form for people. Text may have any characters.
// Prose has names between backticks.
type Writer interface {
	Title(title string)
	Prose(prose string)
	// Item writes prose about something, and a command to copy, or "".
	Item(name, prose, command string)
	Table(t *text.Table)
	// Sections writes sections, which have all rows of a table.
	Sections(t *text.Table, sections []Section)
	// Flush ends the text, and returns the first error.
	Flush() error
}

// WriteMore says how many rows there are after the first top of a table, which
// has all rows if top is 0.
func WriteMore(w Writer, top, all int) {
	if top > 0 && all > top {
		w.Prose(text.Count(all-top) + " more: see `--top`.")
	}
}

// Options says how a result is written.
type Options struct {
	Format string   // one of Formats; "" stands for table
	Top    int      // the number of groups or rows to show; 0 stands for all
	Width  int      // the terminal's columns, at least 60; 0 stands for 80
	Colors bool     // use the escape sequences of ANSI terminals
	Suite  string   // the name of the checks
	FailOn []string // the checks that fail if they find something
}

// Formats are the names of the formats.
var Formats = []string{"github", "json", "junit", "markdown", "table"}

// Write writes a result. The error is that of w.
func Write(w io.Writer, r Result, o Options) error {
	switch o.Format {
	case "json":
		return r.WriteJSON(w)
	case "github":
		return WriteGitHub(w, r.Checks(o.FailOn))
	case "junit":
		return WriteJUnit(w, o.Suite, r.Checks(o.FailOn))
	}
	b := blocks{Writer: bufio.NewWriter(w)}
	var to Writer = &terminal{b, max(cmp.Or(o.Width, 80), 60), o.Colors}
	if o.Format == "markdown" {
		to = &markdown{b}
	}
	r.Write(to, o.Top)
	return to.Flush()
}
