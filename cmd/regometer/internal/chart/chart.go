// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package chart draws charts as SVG: for pages, whose style sheet has the
// colours, and as files.
package chart

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// An Ink is a colour by its use. A style sheet has the class "i-" and the ink.
type Ink string

// A chart draws its axes and their grid with these inks.
const (
	InkAxis Ink = "axis"
	InkGrid Ink = "grid"
)

// A Format is the size of a chart. Text in the chart has its normal size if the
// page shows the chart at this width.
type Format struct {
	Width, Height float64
	Ticks         int // limits the marks of an axis of time
}

// FontSize is the size of the text in charts.
const FontSize = 11

const (
	digit     = 7.0  // the width of a digit in a wide font, such as DejaVu Sans
	endMargin = 28.0 // half a mark of time, which is centred on its value
)

// A Chart is SVG that is being written. Values are drawn between left and
// right, top and bottom, by the two axes. A chart that is only a Format has no
// axes: draw paths and texts.
type Chart struct {
	Format
	svg                      strings.Builder
	x, y                     Axis
	left, right, top, bottom float64
}

// A Point is a point of a chart, by its values on the axes.
type Point = struct{ X, Y float64 }

// New returns a chart that has only axes.
func New(f Format, x, y Axis) *Chart {
	c := &Chart{Format: f, x: x, y: y, right: f.Width - endMargin, top: FontSize, bottom: f.Height - FontSize - 8}
	for _, t := range y.Ticks {
		c.left = max(c.left, widthOf(t.Label)+7)
	}
	for _, t := range x.Ticks { // a label is centred on its value
		c.left = max(c.left, widthOf(t.Label)/2)
		c.right = min(c.right, f.Width-widthOf(t.Label)/2)
	}
	if x.Label != "" {
		c.Text(InkAxis, "middle", (c.left+c.right)/2, f.Height-3, x.Label)
		c.bottom -= FontSize + 9
	}
	if y.Label != "" {
		c.Text(InkAxis, "start", 0, FontSize, y.Label)
		c.top += FontSize + 3
	}
	for _, t := range y.Ticks {
		at := c.place(Point{x.Low, t.Value}).Y
		c.Path("s i-grid", fmt.Sprintf("M%.5g,%.5gH%.5g", c.left, at, c.right))
		c.Text(InkAxis, "end", c.left-5, at+4, t.Label)
	}
	for _, t := range x.Ticks {
		at := c.place(Point{t.Value, y.Low}).X
		c.Path("s i-axis", fmt.Sprintf("M%.5g,%.5gv4", at, c.bottom))
		c.Text(InkAxis, "middle", at, c.bottom+FontSize+7, t.Label)
	}
	c.Path("s i-axis", fmt.Sprintf("M%.5g,%.5gH%.5g", c.left, c.bottom, c.right))
	return c
}

func widthOf(label string) float64 { return digit * float64(utf8.RuneCountInString(label)) }

// place returns where the chart has a point, in pixels.
func (c *Chart) place(p Point) Point {
	return Point{c.left + c.x.part(p.X)*(c.right-c.left), c.bottom - c.y.part(p.Y)*(c.bottom-c.top)}
}

// Path writes a path in pixels. A class that begins with s makes it a line.
func (c *Chart) Path(class, d string) {
	fmt.Fprintf(&c.svg, `<path class="%s" d="%s"></path>`, class, d)
}

// Box fills a box of a class, with a label, and with a note for whoever points to
// it. The label is left out if the box is too narrow.
func (c *Chart) Box(class string, x, y, width, height float64, label, note string) {
	fmt.Fprintf(&c.svg, `<g class="%s"><title>%s</title><path class="box" d="M%.5g,%.5gh%.5gv%.5gh-%.5gZ"></path></g>`,
		class, template.HTMLEscapeString(note), x, y, width, height, width)
	if room := int((width - digit) / digit); room > 3 {
		c.Text("text", "start", x+4, y+height/2+4, text.Shorten(label, room))
	}
}

// Text writes text. Its anchor is at x: start, middle or end.
func (c *Chart) Text(i Ink, anchor string, x, y float64, s string) {
	fmt.Fprintf(&c.svg, `<text class="i-%s" font-size="%d" text-anchor="%s" x="%.5g" y="%.5g">%s</text>`,
		i, FontSize, anchor, x, y, template.HTMLEscapeString(s))
}

// Line draws a line from point to point, but not over a gap of more than most. It
// draws a point alone as a dot.
func (c *Chart) Line(i Ink, points []Point, most float64) {
	class, d := "s dot i-", "" // whose round ends are all of it
	for k, p := range points {
		at, command := c.place(p), "M"
		if d != "" {
			class, command = "s line i-", "L"
		}
		d += fmt.Sprintf("%s%.5g,%.5g", command, at.X, at.Y)
		if k == len(points)-1 || points[k+1].X-p.X > most {
			c.Path(class+string(i), d+"h0")
			class, d = "s dot i-", ""
		}
	}
}

// Bars fills a bar of a width from the bottom to each point, which is at its left.
func (c *Chart) Bars(i Ink, width float64, points []Point) {
	var d strings.Builder
	for _, p := range points {
		top, end := c.place(p), c.place(Point{X: p.X + width})
		fmt.Fprintf(&d, "M%.5g,%.5gV%.5gH%.5gV%.5gZ", top.X, end.Y, top.Y, end.X, end.Y)
	}
	c.Path("i-"+string(i), d.String())
}

// A Mark is a value of the horizontal axis with a label.
type Mark struct {
	At    float64
	Label string
}

// Marks draws a vertical line at each mark. Marks that are close together share
// a text, and a text that would touch the one before moves to the right.
func (c *Chart) Marks(i Ink, marks []Mark) {
	marks = slices.SortedFunc(slices.Values(marks), func(a, b Mark) int { return cmp.Compare(a.At, b.At) })
	end := 0.0 // of the text before
	for len(marks) > 0 {
		first, labels := c.place(Point{X: marks[0].At}).X, []string(nil)
		for len(marks) > 0 {
			at := c.place(Point{X: marks[0].At}).X
			if at > first+2*digit {
				break
			}
			c.Path("s i-"+string(i), fmt.Sprintf("M%.5g,%.5gV%.5g", at, c.top, c.bottom))
			if !slices.Contains(labels, marks[0].Label) {
				labels = append(labels, marks[0].Label)
			}
			marks = marks[1:]
		}
		label := strings.Join(labels, ", ")
		half := widthOf(label) / 2
		at := min(max(first, end+half), c.Width-half)
		c.Text(i, "middle", at, c.top-2, label)
		end = at + half + digit/2
	}
}

// HTML returns the chart as an element of a page. The text is for readers who
// do not see the chart.
func (c *Chart) HTML(text string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg role="img" aria-label="%s" viewBox="0 0 %g %g">%s</svg>`,
		template.HTMLEscapeString(text), c.Width, c.Height, &c.svg))
}
