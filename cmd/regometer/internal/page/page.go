// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package page writes a web page of one file, which needs neither a network nor
// scripts.
package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/chart"
	"github.com/regometer/regometer/cmd/regometer/internal/outfile"
	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

// A Document is a page. It is an [output.Writer] that can also have charts and
// sources. It shows text from logs as text, cuts long text, and shows the first
// rows of long tables.
type Document struct {
	heading, generator string
	sections           []section
}

// A section is a part of a page. What comes before the first title has a section
// without a name.
type section struct {
	Name   string
	Blocks []block
}

// A block has one of these.
type block struct {
	Prose   string
	Items   []item
	More    int // items that are left out
	Facts   []fact
	Legend  []entry
	Table   *table
	Figures []figure
	Details *details
	Source  *Source
}

// An item is a text about something, such as a finding.
type item struct {
	Class, Name, Subject, Text, Command string
	Number                              int // or 0
}

// A fact is a key figure.
type fact struct{ Name, Value, Note string }

// A table has a name in the first column of each row.
type table struct {
	Label   string // for readers who do not see the text around it
	Columns []text.Column
	Rows    [][]string
	More    int // the rows that are left out
}

// Details are a section that the reader opens.
type details struct {
	output.Section
	Table *table
}

// A Source is a text, as a table with the numbers of the lines, figures, and the
// lines, which are flush left.
type Source struct {
	Name, Note string
	Open       bool
	*text.Table
	Heat []int // of each line, from 1 to 5, or 0
}

// New returns an empty page of a command.
func New(heading, generator string) *Document {
	return &Document{heading: heading, generator: generator}
}

// Title begins a section.
func (d *Document) Title(title string) { d.sections = append(d.sections, section{Name: title}) }

// last returns the section that blocks are added to.
func (d *Document) last() *section {
	if d.sections == nil {
		d.Title("")
	}
	return &d.sections[len(d.sections)-1]
}

func (d *Document) add(b block) {
	s := d.last()
	s.Blocks = append(s.Blocks, b)
}

// Prose adds a paragraph.
func (d *Document) Prose(prose string) { d.add(block{Prose: prose}) }

// Item adds an item.
func (d *Document) Item(name, prose, command string) {
	d.item(item{Name: name, Text: prose, Command: command})
}

func (d *Document) item(x item) {
	if s := d.last(); len(s.Blocks) == 0 || s.Blocks[len(s.Blocks)-1].Items == nil {
		d.add(block{})
	}
	last := &d.last().Blocks[len(d.last().Blocks)-1]
	if len(last.Items) == maxItems {
		last.More++
		return
	}
	last.Items = append(last.Items, x)
}

// The limits of what a page shows.
const (
	maxRows       = 40    // of a table
	maxItems      = 100   // of a list
	nameLength    = 120   // of a path, a label or an id
	labelLength   = 40    // of a name inside a chart
	findingLength = 2_000 // of a finding
)

// Table adds the first rows of a table.
func (d *Document) Table(t *text.Table) { d.table(t, maxRows) }

func (d *Document) table(t *text.Table, most int) {
	d.add(block{Table: newTable(d.last().Name, t.Columns, t.Rows, most)})
}

func newTable(label string, columns []text.Column, rows [][]string, most int) *table {
	n := min(most, len(rows))
	return &table{label, columns, rows[:n], len(rows) - n}
}

// Sections adds sections that the reader opens.
func (d *Document) Sections(t *text.Table, sections []output.Section) {
	for _, s := range sections {
		x := &details{Section: s}
		if s.Rows != nil {
			x.Table = newTable(d.last().Name+": "+text.Fit(s.Name, nameLength), t.Columns, s.Rows, maxRows)
		}
		d.add(block{Details: x})
	}
}

// Figure adds a chart, which is drawn for screens and for phones. The text is for
// readers who do not see it.
func (d *Document) Figure(text string, draw func(chart.Format) *chart.Chart) {
	d.add(block{Figures: []figure{figure{}.draw(text, draw)}})
}

// Source adds a source.
func (d *Document) Source(s *Source) { d.add(block{Source: s}) }

// Flush does nothing: see [Document.Write].
func (d *Document) Flush() error { return nil }

// shown returns text from a log or with figures as the page shows it.
func shown(s string, width int) string { return text.Glue(text.Fit(s, width)) }

// nameText shows a name.
func nameText(s string) string { return cmp.Or(shown(s, nameLength), text.Empty) }

// Write writes the page. The error is that of w.
func (d *Document) Write(w io.Writer) error {
	sum := sha256.Sum256([]byte(styleText))
	var b bytes.Buffer
	// It is parsed here, because most commands do not need it.
	page := template.Must(template.New("page").Funcs(template.FuncMap{
		"fit":  func(s string) string { return shown(s, findingLength) },
		"cell": func(s string) string { return shown(s, nameLength) },
		"name": nameText,
		// Names of paths break between segments.
		"segments": func(s string) []string { return strings.SplitAfter(nameText(s), "/") },
		// In sentences, names are between backticks: they are the odd parts.
		"parts":  func(s string) []string { return strings.Split(s, "`") },
		"isName": func(i int) bool { return i%2 == 1 },
		"plural": text.Plural[int],
	}).Parse(pageText))
	if err := page.Execute(&b, map[string]any{
		"Title": d.heading, "Generator": d.generator, "Sections": d.sections, "Style": template.CSS(styleText),
		// The policy forbids the page everything except its own style sheet.
		"Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'",
	}); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

// IsPage reports whether a file begins as a page of this package.
func IsPage(file string) bool {
	return strings.Contains(outfile.Head(file), `<meta name="generator" content="regometer `)
}

// A chart that spans the page is drawn twice, for screens and for phones. The
// page displays one of the two.
var (
	wide   = chart.Format{Width: 900, Height: 260, Ticks: 12}
	narrow = chart.Format{Width: 360, Height: 240, Ticks: 5}
	small  = chart.Format{Width: 320, Height: 210, Ticks: 4}
)

// A figure is a chart with the text beside it.
type figure struct {
	Name, Help   string // above it; the name is that of a stage or of a group
	Legend       []entry
	Wide, Narrow template.HTML // Wide is empty if one chart serves all screens
	Note         string        // below it
}

// draw draws a chart for screens and for phones. The text is for readers who do
// not see it.
func (f figure) draw(text string, chartFor func(chart.Format) *chart.Chart) figure {
	f.Wide, f.Narrow = chartFor(wide).HTML(text), chartFor(narrow).HTML(text)
	return f
}

// An entry explains a colour.
type entry struct {
	Ink  chart.Ink
	Text string
}
