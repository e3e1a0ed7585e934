// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"path/filepath"
	"unicode/utf8"
)

// Sizes of the plots, in pixels, and colours that can be told apart in print
// and by the colour-blind.
const (
	plotWidth  = 1000
	letter     = 6.5 // the mean width of a label's letters
	rightSpace = 70
	rowHeight  = 20
	barHeight  = 12
	top        = 56

	ourColour   = "#0072b2"
	opaColour   = "#999999"
	aimColour   = "#d55e00"
	floorColour = "#222222"
)

// plots returns the pictures by the names of their files.
func (r report) plots() map[string][]byte {
	files := map[string][]byte{}
	if lines := r["metrics"].lines(true); len(lines) > 0 {
		files[filepath.Join("performance", "ratios.svg")] = ratioPlot(lines)
	}
	if e := r["embedded"]; len(e.samples) > 0 {
		files[filepath.Join("performance", "decision.svg")] = decisionPlot(e)
	}
	return files
}

// svg is a picture that is being drawn.
type svg struct{ bytes.Buffer }

// newSVG begins a picture with a title and a legend of colours and texts.
func newSVG(height int, title string, legend ...string) *svg {
	s := &svg{}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="Helvetica, Arial, sans-serif" font-size="12">`+"\n", plotWidth, height)
	fmt.Fprintf(s, "<title>%s</title>\n", html.EscapeString(title))
	s.rect(0, 0, plotWidth, float64(height), "#ffffff")
	s.text(12, 20, "start", "bold", title)
	at := 12.0
	for i := 0; i < len(legend); i += 2 {
		s.rect(at, 32, 12, 12, legend[i])
		s.text(at+18, 42, "start", "normal", legend[i+1])
		at += 48 + letter*float64(len(legend[i+1]))
	}
	return s
}

func (s *svg) rect(x, y, width, height float64, colour string) {
	fmt.Fprintf(s, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, width, height, colour)
}

func (s *svg) text(x, y float64, anchor, weight, text string) {
	fmt.Fprintf(s, `<text x="%.1f" y="%.1f" text-anchor="%s" font-weight="%s">%s</text>`+"\n", x, y, anchor, weight, html.EscapeString(text))
}

func (s *svg) end() []byte {
	s.WriteString("</svg>\n")
	return s.Bytes()
}

// ratioPlot draws, for each case with a target, Regometer's time divided by
// OPA's on a logarithmic axis, with the target and the floor.
func ratioPlot(lines []line) []byte {
	least, most := 0.1, 1.0
	labels := 20.0 // the room for the longest of them, and around it
	for _, l := range lines {
		least, most = min(least, l.time.Center), max(most, l.time.Center)
		labels = max(labels, 20+letter*float64(utf8.RuneCountInString(l.title)))
	}
	low, high := math.Floor(math.Log10(least)), math.Log10(most) // whole decades
	x := func(ratio float64) float64 {
		return labels + (plotWidth-labels-rightSpace)*(math.Log10(ratio)-low)/(high-low)
	}
	bottom := float64(top + len(lines)*rowHeight)
	s := newSVG(int(bottom)+40, "Time divided by that of OPA's package (logarithmic; shorter is faster)",
		ourColour, "Regometer", opaColour, "OPA = 1", aimColour, "target", floorColour, "floor")
	for decade := low; decade <= high; decade++ {
		for _, step := range []float64{1, 2, 5} {
			if ratio := step * math.Pow(10, decade); ratio <= most {
				s.rect(x(ratio), top, 1, bottom-top, "#dddddd")
				s.text(x(ratio), bottom+16, "middle", "normal", fmt.Sprintf("%.3g", ratio))
			}
		}
	}
	s.rect(x(1), top, 2, bottom-top, opaColour)
	for i, l := range lines {
		y := float64(top + i*rowHeight)
		s.text(labels-8, y+14, "end", "normal", l.title)
		s.rect(labels, y+4, max(1, x(l.time.Center)-labels), barHeight, ourColour)
		if floor := l.time.Center / l.floor.Center; l.floor.Center > 0 && floor > math.Pow(10, low) {
			s.rect(x(floor)-1, y+4, 2, barHeight, floorColour)
		}
		if l.target != nil && l.target.Time > 0 {
			s.rect(x(l.target.Time)-1.5, y+1, 3, rowHeight-2, aimColour)
		}
		s.text(plotWidth-rightSpace+8, y+14, "start", "normal", number(l.time.Center))
	}
	return s.end()
}

// decisionPlot draws the embedded decision: what it takes without metrics,
// and what each package adds.
func decisionPlot(e results) []byte {
	bars := []struct{ title, name, impl string }{
		{"OPA: All, json.Marshal", "marshal", "opa"},
		{"drop-in: All, json.Marshal", "marshal", "regometer"},
		{"drop-in: AppendJSON", "append", "regometer"},
		{"OPA: instrumented", "instrumented", "opa"},
		{"drop-in: instrumented", "instrumented", "regometer"},
	}
	most := 1.0
	for _, bar := range bars {
		most = max(most, e.median("Decision/case="+bar.name, bar.impl, nanoseconds))
	}
	const labels, height = 220, 28
	scale := (plotWidth - labels - rightSpace) / most
	s := newSVG(top+len(bars)*height+12, "Time of an embedded decision", opaColour, "the decision itself (NoOp)", ourColour, "its metrics")
	for i, bar := range bars {
		y := float64(top + i*height)
		all := e.median("Decision/case="+bar.name, bar.impl, nanoseconds)
		alone := min(all, e.median("Decision/case=noop", bar.impl, nanoseconds))
		s.text(labels-8, y+17, "end", "normal", bar.title)
		s.rect(labels, y+3, alone*scale, height-8, opaColour)
		s.rect(labels+alone*scale, y+3, (all-alone)*scale, height-8, ourColour)
		s.text(labels+all*scale+6, y+17, "start", "normal", duration(all))
	}
	return s.end()
}
