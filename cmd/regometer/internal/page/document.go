// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	_ "embed"
	"io"

	"github.com/regometer/regometer/cmd/regometer/internal/chart"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

//go:embed document.css
var documentStyle string

// A Document is a page of another command than report. It has sections of
// blocks. The first section has no name.
type Document struct {
	style
	Title, Generator string
	Sections         []documentSection
}

type documentSection struct {
	Name   string
	Blocks []block
}

// A block has one of these.
type block struct {
	Prose  string
	Table  *table
	Figure *figure
	Source *Source
}

// A Source is a text with figures beside its lines.
type Source struct {
	Name, Note string
	Open       bool
	Columns    []string
	Lines      []SourceLine
}

// A SourceLine is a line of a source.
type SourceLine struct {
	Number int
	Heat   int // from 1 to 5, or 0
	Cells  []string
	Text   string
}

// NewDocument returns an empty page of a command.
func NewDocument(title, generator string) *Document {
	return &Document{style: style(styleText + documentStyle), Title: title, Generator: generator, Sections: make([]documentSection, 1)}
}

// Section begins a section.
func (d *Document) Section(name string) { d.Sections = append(d.Sections, documentSection{Name: name}) }

func (d *Document) add(b block) {
	s := &d.Sections[len(d.Sections)-1]
	s.Blocks = append(s.Blocks, b)
}

// Prose adds a paragraph. Names are between backticks.
func (d *Document) Prose(prose string) { d.add(block{Prose: prose}) }

// Table adds the first rows of a table.
func (d *Document) Table(label string, t *text.Table) {
	x := newTable(label, t.Columns, t.Rows, "row", func(row []string) []string { return row })
	d.add(block{Table: &x})
}

// Figure adds a chart, which is drawn for screens and for phones. The text is for
// readers who do not see it.
func (d *Document) Figure(text, note string, draw func(chart.Format) *chart.Chart) {
	f := figure{Note: note}
	d.add(block{Figure: f.draw(text, draw)})
}

// Source adds a source.
func (d *Document) Source(s *Source) { d.add(block{Source: s}) }

// Write writes the page. The error is that of w.
func (d *Document) Write(w io.Writer) error { return write(w, "document", d) }
