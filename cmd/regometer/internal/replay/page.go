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
	d := page.NewDocument("Which rules took the time, and which decisions changed", "regometer replay")
	for _, p := range r.summary() {
		d.Prose(p)
	}
	for _, t := range r.tables(0) {
		if t.title == rulesTitle {
			d.Section("Time on the way to each rule")
			d.Prose("A box is a rule, below the rule that needs it. Its width is the time with the rules that it needs, and its colour the share of its own time. Point to a box for its figures.")
			d.Figure("The tables show the same times.", "", r.Profile.flames)
		}
		d.Section(t.title)
		d.Table(t.title, t.Table)
	}
	d.Section("Source")
	for _, s := range r.Profile.sources() {
		d.Source(s)
	}
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
	needs      map[int]*flame // by rule
}

// flames draws the rules, each below the one that needs it.
func (p *Profile) flames(f chart.Format) *chart.Chart {
	whole := max(p.Time, 1)
	policy, paths := p.tracers[0].policy, map[string]*flame{}
	var add func(to *flame, f *frame) float64
	add = func(to *flame, f *frame) (total float64) {
		for _, l := range f.lines {
			to.own += l.time
			total += l.time
			for _, callee := range l.calls {
				if to.needs[callee.rule] == nil {
					to.needs[callee.rule] = &flame{name: strings.TrimPrefix(policy.rules[callee.rule].name, "data."), needs: map[int]*flame{}}
				}
				total += add(to.needs[callee.rule], callee)
			}
		}
		to.total += total
		return total
	}
	for _, t := range p.tracers {
		for path, f := range t.paths {
			if paths[path] == nil {
				paths[path] = &flame{name: cmp.Or(text.Visible(path), "other ways"), needs: map[int]*flame{}}
			}
			add(paths[path], f)
		}
	}
	const row = 18
	depth, c := 0, &chart.Chart{Format: f}
	var draw func(x float64, level int, all []*flame)
	draw = func(x float64, level int, all []*flame) {
		slices.SortFunc(all, func(a, b *flame) int { return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.name, b.name)) })
		for _, at := range all {
			width := at.total / whole * f.Width
			if width < 0.5 { // too narrow to be seen
				return
			}
			depth = max(depth, level+1)
			note := fmt.Sprintf("%s: %s with the rules that it needs (%s), %s without (%s)", at.name,
				text.Duration(at.total), text.Percent(at.total/whole), text.Duration(at.own), text.Percent(at.own/whole))
			c.Box(fmt.Sprint("h-", max(1, heatOf(at.own/whole))), x, float64(row*level), width, row, at.name, note)
			draw(x, level+1, slices.Collect(maps.Values(at.needs)))
			x += width
		}
	}
	draw(0, 0, slices.Collect(maps.Values(paths)))
	c.Height = float64(row * depth)
	return c
}

// sources returns the files of the policy with the times of their lines. Those
// with the most time come first.
func (p *Profile) sources() (all []*page.Source) {
	whole := max(p.Time, 1)
	lines, files, never := map[Source]LineTime{}, map[string]float64{}, map[Source]bool{} // without the rule
	for _, l := range p.Lines {
		at := Source{File: l.File, Line: l.Line}
		files[l.File] += l.Time
		l.Time, l.Evaluated = l.Time+lines[at].Time, l.Evaluated+lines[at].Evaluated
		lines[at] = l
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
			if l, ok := lines[at]; ok && l.Evaluated+l.Time > 0 {
				line.Heat = heatOf(l.Time / whole)
				line.Cells = []string{text.Duration(l.Time), text.Percent(l.Time / whole), count(l.Evaluated)}
			} else if never[at] {
				line.Cells[2] = "never"
			}
			s.Lines = append(s.Lines, line)
		}
		if all = append(all, s); rest < 0 {
			break
		}
	}
	return all
}
