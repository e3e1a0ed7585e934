// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/chart"
	"github.com/regometer/regometer/cmd/regometer/internal/page"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

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

// heat returns the colour of a time by its share.
func (p *Profile) heat(time float64) int {
	return len(slices.DeleteFunc([]float64{0.002, 0.01, 0.03, 0.1, 0.3}, func(least float64) bool { return time < least*p.Time }))
}

// A flame is a rule on a way to it, or the query of a path, with the time without
// and with the rules that it needs.
type flame struct {
	name       string
	own, total float64
	needs      map[string]*flame // by name
}

// add adds time to a line and all that need it. It returns the flame of the line.
func (root *flame) add(path string, l *line, time float64) *flame {
	from, name := root, cmp.Or(text.Visible(path), "other ways")
	if l.rule != nil {
		from, name = root.add(path, l.from, time), strings.TrimPrefix(sourceOf(l.rule).Name, "data.")
	}
	if from.needs[name] == nil {
		from.needs[name] = &flame{name: name, needs: map[string]*flame{}}
	}
	from.needs[name].total += time
	return from.needs[name]
}

// flames draws the rules, each below the one that needs it.
func (p *Profile) flames(f chart.Format) *chart.Chart {
	all := &flame{needs: map[string]*flame{}}
	p.walk(func(path string, l *line) { all.add(path, l, l.time).own += l.time })
	const row = 18
	c := &chart.Chart{Format: chart.Format{Width: f.Width}}
	var draw func(x, y float64, from *flame)
	draw = func(x, y float64, from *flame) {
		for _, at := range slices.SortedFunc(maps.Values(from.needs), func(a, b *flame) int { return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.name, b.name)) }) {
			width := at.total / p.Time * f.Width
			if width < 0.5 { // too narrow to be seen
				return
			}
			c.Height = max(c.Height, y+row)
			note := fmt.Sprintf("%s: %s with the rules that it needs (%s), %s without (%s)", at.name,
				text.Duration(at.total), p.share(at.total), text.Duration(at.own), p.share(at.own))
			c.Box(fmt.Sprint("h-", max(1, p.heat(at.own))), x, y, width, row, at.name, note)
			draw(x, y+row, at)
			x += width
		}
	}
	draw(0, 0, all)
	return c
}

// writeSources writes the files of the policy with the times of their lines.
// Those with the most time come first.
func (p *Profile) writeSources(d *page.Document) {
	lines, files := map[Source]*Time{}, map[string]float64{} // without the rule
	for _, at := range p.Unreached {
		add(lines, Source{File: at.File, Line: at.Line}, 0, 0)
	}
	for _, l := range p.Lines {
		files[l.File] += l.Time
		add(lines, Source{File: l.File, Line: l.Line}, l.Time, l.Evaluated)
	}
	texts := p.tracers[0].policy.sources
	byTime := func(a, b string) int { return cmp.Or(cmp.Compare(files[b], files[a]), cmp.Compare(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(texts), byTime) {
		s := &page.Source{Name: name, Note: fmt.Sprintf("%s, %s of the time", text.LongDuration(files[name]), p.share(files[name]))}
		s.Open, s.Table = files[name] >= p.Time/10, text.NewTable(0, "Line", "Time", "Share", "Evaluated", "Source")
		s.Columns[4].Left = true
		for i, row := range texts[name] {
			cells, heat := []string{strconv.Itoa(i + 1), "", "", "", row}, 0
			if l := lines[Source{File: name, Line: i + 1}]; l != nil && l.Evaluated+l.Time > 0 {
				cells[1], cells[2], cells[3], heat = text.Duration(l.Time), p.share(l.Time), count(l.Evaluated), p.heat(l.Time)
			} else if l != nil {
				cells[3] = "never"
			}
			s.Add(cells...)
			s.Heat = append(s.Heat, heat)
		}
		d.Source(s)
	}
}
