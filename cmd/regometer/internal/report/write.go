// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// Write writes the findings, the stages of each group by self time, the slowest
// decisions, and the input.
func (r *Report) Write(w output.Writer, top int) {
	for _, said := range r.Coverage() {
		w.Prose(said)
	}
	w.Title("Findings")
	if none := r.Summary(); none != "" {
		w.Prose(none)
	}
	for _, f := range r.Findings {
		w.Item(f.Title(), f.Text, f.Command)
	}
	r.writeGroups(w, top)
	if len(r.Slowest) > 0 {
		w.Title("Slowest decisions")
	}
	for _, d := range r.Slowest {
		w.Item(text.Duration(float64(d.Took))+" "+cmp.Or(d.Key, text.Empty), fmt.Sprintf("%s, %s, id %s, %s, at %s.",
			text.Time(d.Time, text.ToTheMilli), d.Outcome, name(cmp.Or(d.IDs(), text.None)), stageTimes(d.Stages, name), d.Place.prose()), "")
	}
	w.Title("Input")
	w.Prose(inputText(r))
	for _, p := range r.Inputs.Problems {
		var places []string
		for _, place := range p.First {
			places = append(places, place.prose())
		}
		if more := p.Count - int64(len(places)); more > 0 {
			places = append(places, "and "+text.Count(more)+" more")
		}
		w.Item(p.Kind+" "+text.Count(p.Count), strings.Join(places, ", ")+".", "")
	}
}

func (r *Report) writeGroups(w output.Writer, top int) {
	groups := shown(r, top)
	if len(groups) == 0 {
		return
	}
	columns := []text.Column{{Title: "stage", Left: true, Name: true}}
	stages, ends := stageTable(groups, columns, func(_ *Group, f *Figures) []string { return []string{f.Name} })
	var sections []output.Section
	for i, g := range groups {
		sections = append(sections, output.Section{
			Name: cmp.Or(g.Key, text.Empty), Share: text.Percent(Share(g.Time, r.Total.Time)) + " of the time",
			Prose: strings.TrimSuffix(groupText(g)+" "+r.SizesText(g), " "), Rows: stages.Rows[ends[i]:ends[i+1]],
		})
	}
	w.Title("Decisions by " + r.By)
	w.Sections(&stages, sections)
	if rest := restText(r, len(groups)); rest != "" {
		w.Prose(rest)
	}
}

// prose returns a place for prose, with the whole name of the file.
func (p Place) prose() string {
	return "`" + strings.ReplaceAll(p.File, "`", "'") + ":" + strconv.FormatInt(p.Line, 10) + "`"
}
