// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/chart"
	"github.com/regometer/regometer/cmd/regometer/internal/page"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// maxSource limits the lines of sources on a page.
const maxSource = 10_000

// WriteHTML writes the report as a page. The error is that of w.
func (r *Report) WriteHTML(w io.Writer) error {
	d := page.New("Which rules took the time, and which decisions changed", "regometer replay")
	r.Write(d, 0)
	if len(r.Profile.Rules) > 0 {
		d.Title("Time on the way to each rule")
		d.Prose("A box is a rule, below the rule that needs it. Its width is the time with the rules that it needs, and its colour the share of its own time. Point to a box for its figures.")
		d.Figure("The tables show the same times.", r.Profile.flames)
	}
	d.Title("Source")
	r.Profile.writeSources(d)
	return d.Write(w)
}

// heatOf returns the colour of a share of the time.
func heatOf(share float64) int {
	return len(slices.DeleteFunc([]float64{0.002, 0.01, 0.03, 0.1, 0.3}, func(least float64) bool { return share < least }))
}

// A flame is a rule on the same way in all evaluations, or the query of a path.
type flame struct {
	name       string
	own, total float64
	needs      map[string]*flame
}

// need returns a rule that the flame needs.
func (f *flame) need(name string) *flame {
	if f.needs[name] == nil {
		f.needs[name] = &flame{name: name, needs: map[string]*flame{}}
	}
	return f.needs[name]
}

// flames draws the rules, each below the one that needs it.
func (p *Profile) flames(f chart.Format) *chart.Chart {
	root := &flame{needs: map[string]*flame{}}
	p.walk(func(path string, l *line, time float64) {
		var way []string // to the query
		for at := l; at.rule != nil; at = at.from {
			way = append(way, strings.TrimPrefix(sourceOf(at.rule).Name, "data."))
		}
		at := root
		for _, name := range slices.Backward(append(way, cmp.Or(text.Visible(path), "other ways"))) {
			at = at.need(name)
			at.total += time
		}
		at.own += time
	})
	const row = 18
	whole, depth, c := max(p.Time, 1), 0, &chart.Chart{Format: f}
	var draw func(x float64, level int, all map[string]*flame)
	draw = func(x float64, level int, all map[string]*flame) {
		for _, at := range slices.SortedFunc(maps.Values(all), func(a, b *flame) int { return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.name, b.name)) }) {
			width := at.total / whole * f.Width
			if width < 0.5 { // too narrow to be seen
				return
			}
			depth = max(depth, level+1)
			note := fmt.Sprintf("%s: %s with the rules that it needs (%s), %s without (%s)", at.name,
				text.Duration(at.total), text.Percent(at.total/whole), text.Duration(at.own), text.Percent(at.own/whole))
			c.Box(fmt.Sprint("h-", max(1, heatOf(at.own/whole))), x, float64(row*level), width, row, at.name, note)
			draw(x, level+1, at.needs)
			x += width
		}
	}
	draw(0, 0, root.needs)
	c.Height = float64(row * depth)
	return c
}

// writeSources writes the files of the policy with the times of their lines.
// Those with the most time come first.
func (p *Profile) writeSources(d *page.Document) {
	whole := max(p.Time, 1)
	lines, files, never := map[Source]*Time{}, map[string]float64{}, map[Source]bool{} // without the rule
	for _, l := range p.Lines {
		files[l.File] += l.Time
		add(lines, Source{File: l.File, Line: l.Line}, l.Time, l.Evaluated)
	}
	for _, s := range p.Unreached {
		never[Source{File: s.File, Line: s.Line}] = true
	}
	texts, rest := p.tracers[0].policy.sources, maxSource
	names := slices.SortedFunc(maps.Keys(texts), func(a, b string) int { return cmp.Or(cmp.Compare(files[b], files[a]), cmp.Compare(a, b)) })
	for _, name := range names {
		s := &page.Source{Name: name, Open: files[name] >= p.Time/10, Columns: []string{"Time", "Share", "Evaluated"}}
		s.Note = fmt.Sprintf("%s, %s of the time", text.LongDuration(files[name]), text.Percent(files[name]/whole))
		for _, row := range texts[name] {
			if rest--; rest < 0 {
				s.Note += ", cut off, because the page shows no more lines"
				break
			}
			line := page.SourceLine{Number: len(s.Lines) + 1, Cells: make([]string, 3), Text: row}
			at := Source{File: name, Line: line.Number}
			if l := lines[at]; l != nil && l.Evaluated+l.Time > 0 {
				line.Heat = heatOf(l.Time / whole)
				line.Cells = []string{text.Duration(l.Time), text.Percent(l.Time / whole), count(l.Evaluated)}
			} else if never[at] {
				line.Cells[2] = "never"
			}
			s.Lines = append(s.Lines, line)
		}
		if d.Source(s); rest < 0 {
			return
		}
	}
}
