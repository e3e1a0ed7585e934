// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"unicode/utf8"

	"github.com/regometer/regometer/bench"
	"github.com/regometer/regometer/bench/internal/measure"
)

// Sizes of the plots, in pixels, and colours that are told apart in print and
// by the colour-blind.
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

// svg is a picture that is being drawn.
type svg struct{ bytes.Buffer }

func newSVG(height int, title string) *svg {
	s := &svg{}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="Helvetica, Arial, sans-serif" font-size="12">`+"\n", plotWidth, height)
	fmt.Fprintf(s, "<title>%s</title>\n", html.EscapeString(title))
	s.rect(0, 0, plotWidth, float64(height), "#ffffff")
	s.text(12, 20, "start", "bold", title)
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

// ratioPlot draws, for each case with a target, Regometer's time by OPA's on
// a logarithmic axis, with the target and the floor.
func (r report) ratioPlot() []byte {
	lines := r.lines(bench.Targets)
	// Whole decades around all ratios.
	least := 0.1
	most := 1.0
	for _, l := range lines {
		least, most = min(least, l.time.Median), max(most, l.time.Median)
	}
	low, high := math.Floor(math.Log10(least)), math.Log10(most)
	labels := 20.0 // the room for the longest of them, and around it
	for _, l := range lines {
		labels = max(labels, 20+letter*float64(utf8.RuneCountInString(l.title)))
	}
	width := plotWidth - labels - rightSpace
	x := func(ratio float64) float64 {
		return labels + width*(math.Log10(ratio)-low)/(high-low)
	}
	bottom := float64(top + len(lines)*rowHeight)
	s := newSVG(int(bottom)+40, "Time by that of OPA's package (logarithmic; shorter is faster)")
	s.legend()
	for decade := low; decade <= high; decade++ {
		for _, step := range []float64{1, 2, 5} {
			ratio := step * math.Pow(10, decade)
			if ratio > most {
				continue
			}
			s.rect(x(ratio), top, 1, bottom-top, "#dddddd")
			s.text(x(ratio), bottom+16, "middle", "normal", fmt.Sprintf("%.3g", ratio))
		}
	}
	s.rect(x(1), top, 2, bottom-top, opaColour)
	for i, l := range lines {
		y := float64(top + i*rowHeight)
		s.text(labels-8, y+14, "end", "normal", l.title)
		s.rect(labels, y+4, max(1, x(l.time.Median)-labels), barHeight, ourColour)
		if floor := l.time.Median / l.floor.Median; l.floor.Median > 0 && floor > math.Pow(10, low) {
			s.rect(x(floor)-1, y+4, 2, barHeight, floorColour)
		}
		if l.limit > 0 {
			s.rect(x(l.limit)-1.5, y+1, 3, rowHeight-2, aimColour)
		}
		s.text(plotWidth-rightSpace+8, y+14, "start", "normal", measure.Number(l.time.Median))
	}
	return s.end()
}

func (s *svg) legend() {
	at := 12.0
	for _, entry := range []struct{ colour, text string }{
		{ourColour, "Regometer"}, {opaColour, "OPA = 1"}, {aimColour, "target"}, {floorColour, "floor"},
	} {
		s.rect(at, 32, 12, 12, entry.colour)
		s.text(at+18, 42, "start", "normal", entry.text)
		at += 110
	}
}

// decisionPlot draws the embedded decision: what it takes without metrics,
// and what each package adds.
func (r report) decisionPlot() []byte {
	e := r.parts["embedded"]
	bars := []struct{ title, name, impl string }{
		{"OPA: All, json.Marshal", "case=marshal", "opa"},
		{"drop-in: All, json.Marshal", "case=marshal", "regometer"},
		{"drop-in: AppendJSON", "case=append", "regometer"},
		{"OPA: instrumented", "case=instrumented", "opa"},
		{"drop-in: instrumented", "case=instrumented", "regometer"},
	}
	var most float64
	for _, bar := range bars {
		most = max(most, e.Median(bar.name, bar.impl, measure.Nanoseconds))
	}
	if most == 0 {
		most = 1
	}
	const labels, height = 220, 28
	scale := (plotWidth - labels - rightSpace) / most
	s := newSVG(top+len(bars)*height+12, "Time of an embedded decision")
	s.rect(12, 32, 12, 12, opaColour)
	s.text(30, 42, "start", "normal", "the decision itself (NoOp)")
	s.rect(212, 32, 12, 12, ourColour)
	s.text(230, 42, "start", "normal", "its metrics")
	for i, bar := range bars {
		y := float64(top + i*height)
		all := e.Median(bar.name, bar.impl, measure.Nanoseconds)
		alone := min(all, e.Median("case=noop", bar.impl, measure.Nanoseconds))
		s.text(labels-8, y+17, "end", "normal", bar.title)
		s.rect(labels, y+3, alone*scale, height-8, opaColour)
		s.rect(labels+alone*scale, y+3, (all-alone)*scale, height-8, ourColour)
		s.text(labels+all*scale+6, y+17, "start", "normal", measure.Duration(all))
	}
	return s.end()
}
