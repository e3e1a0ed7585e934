// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"html/template"
	"strings"
	"unicode/utf8"
)

// An ink is a colour by its use. The style sheet has a class for it, with a
// colour for light pages and one for dark pages. Each outcome has an ink of its
// name.
type ink string

const (
	inkText  ink = "text"
	inkAxis  ink = "axis"
	inkGrid  ink = "grid"
	inkBar   ink = "bar"
	inkShare ink = "share"
	inkP50   ink = "p50"
	inkP99   ink = "p99"
)

// A format is the size of a chart. Text in the chart has its normal size if the
// page shows the chart at this width.
type format struct {
	width, height float64
	ticks         int // limits the marks of the horizontal axis
}

// A chart that spans the page is drawn twice, for screens and for phones. The
// page displays one of the two.
var (
	wide   = format{900, 260, 12}
	narrow = format{360, 230, 5}
	small  = format{360, 180, 5}
)

const (
	fontSize  = 11
	digit     = 7.0  // the width of a digit in a wide font, such as DejaVu Sans
	endMargin = 28.0 // half a mark of time, which is centred on its value
)

// A chart is SVG that is being written. Values are drawn between left and
// right, top and bottom, by the two axes.
type chart struct {
	format
	svg                      strings.Builder
	x, y                     axis
	left, right, top, bottom float64
}

// An xy is a point of a chart, by its values on the axes.
type xy struct{ x, y float64 }

// newChart returns a chart that has only axes.
func newChart(f format, x, y axis) *chart {
	c := &chart{format: f, x: x, y: y, right: f.width - endMargin, top: fontSize, bottom: f.height - fontSize - 6}
	for _, t := range y.ticks {
		c.left = max(c.left, widthOf(t.label)+7)
	}
	for _, t := range x.ticks { // a label is centred on its value
		c.left = max(c.left, widthOf(t.label)/2)
		c.right = min(c.right, f.width-widthOf(t.label)/2)
	}
	if x.label != "" {
		c.text(inkAxis, "middle", (c.left+c.right)/2, f.height-3, x.label)
		c.bottom -= fontSize + 4
	}
	if y.label != "" {
		c.text(inkAxis, "start", 0, fontSize, y.label)
		c.top += fontSize + 3
	}
	for _, t := range y.ticks {
		at := c.place(xy{x.low, t.value}).y
		c.path("s i-grid", fmt.Sprintf("M%.5g,%.5gH%.5g", c.left, at, c.right))
		c.text(inkAxis, "end", c.left-5, at+4, t.label)
	}
	for _, t := range x.ticks {
		at := c.place(xy{t.value, y.low}).x
		c.path("s i-axis", fmt.Sprintf("M%.5g,%.5gv4", at, c.bottom))
		c.text(inkAxis, "middle", at, c.bottom+fontSize+5, t.label)
	}
	c.path("s i-axis", fmt.Sprintf("M%.5g,%.5gH%.5g", c.left, c.bottom, c.right))
	return c
}

func widthOf(label string) float64 { return digit * float64(utf8.RuneCountInString(label)) }

// place returns where the chart has a point, in pixels.
func (c *chart) place(p xy) xy {
	return xy{c.left + c.x.part(p.x)*(c.right-c.left), c.bottom - c.y.part(p.y)*(c.bottom-c.top)}
}

// path writes a path in pixels. A class that begins with s makes it a line.
func (c *chart) path(class, d string) {
	fmt.Fprintf(&c.svg, `<path class="%s" d="%s"></path>`, class, d)
}

// text writes text. Its anchor is at x: start, middle or end.
func (c *chart) text(i ink, anchor string, x, y float64, s string) {
	fmt.Fprintf(&c.svg, `<text class="i-%s" font-size="%d" text-anchor="%s" x="%.5g" y="%.5g">%s</text>`,
		i, fontSize, anchor, x, y, template.HTMLEscapeString(s))
}

// line draws a line from point to point. area fills the inside of such a line.
func (c *chart) line(i ink, points []xy) { c.path("s line i-"+string(i), c.outline(points)) }
func (c *chart) area(i ink, points []xy) { c.path("i-"+string(i), c.outline(points)+"Z") }

func (c *chart) outline(points []xy) string {
	var d strings.Builder
	command := 'M'
	for _, p := range points {
		at := c.place(p)
		fmt.Fprintf(&d, "%c%.5g,%.5g", command, at.x, at.y)
		command = 'L'
	}
	return d.String()
}

// dot draws a small circle around a point.
func (c *chart) dot(i ink, p xy) {
	at := c.place(p)
	c.path("i-"+string(i), fmt.Sprintf("M%.5g,%.5ga2,2 0 1 0 4,0a2,2 0 1 0 -4,0Z", at.x-2, at.y))
}

// html returns the chart as an element of a page. The text is for readers who
// do not see the chart.
func (c *chart) html(text string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg role="img" aria-label="%s" viewBox="0 0 %g %g">%s</svg>`,
		template.HTMLEscapeString(text), c.width, c.height, &c.svg))
}
