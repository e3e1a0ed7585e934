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
	r.WriteGroups(w, r.Top(top), ": see `--top`")
	r.WriteRest(w)
}

// WriteGroups writes the first groups with their stages, and a hint how to see
// the others, or "".
func (r *Report) WriteGroups(w output.Writer, groups []*Group, hint string) {
	if len(groups) == 0 {
		return
	}
	var all text.Table
	var sections []output.Section
	for _, g := range groups {
		t := StageTable(g)
		all.Columns, all.Rows = t.Columns, append(all.Rows, t.Rows...)
		sections = append(sections, output.Section{
			Name: cmp.Or(g.Key, text.Empty), Share: text.Percent(Share(g.Time, r.Total.Time)) + " of the time",
			Prose: strings.TrimSuffix(groupText(g)+" "+r.SizesText(g), " "), Rows: t.Rows,
		})
	}
	w.Title("Decisions by " + r.By)
	w.Sections(&all, sections)
	if len(groups) < r.Groups.Len() {
		w.Prose(fmt.Sprintf("Not shown: %s of %s groups%s.", text.Count(r.Groups.Len()-len(groups)), text.Count(r.Groups.Len()), hint))
	}
}

// WriteRest writes the slowest decisions and the input.
func (r *Report) WriteRest(w output.Writer) {
	if len(r.Slowest) > 0 {
		w.Title("Slowest decisions")
	}
	for _, d := range r.Slowest {
		var more string
		if d.TraceID != "" {
			more = "trace " + name(d.TraceID) + ", "
		}
		w.Item(text.Duration(float64(d.Took))+" "+cmp.Or(d.Key, text.Empty), fmt.Sprintf("%s, %s, id %s, %sat %s.",
			text.Time(d.Time, text.ToTheMilli), d.Outcome, name(cmp.Or(d.ID, text.None)), more, d.Place.prose()), "")
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
		w.Item(string(p.Kind)+" "+text.Count(p.Count), strings.Join(places, ", ")+".", "")
	}
}

// prose returns a place for prose, with the whole name of the file.
func (p Place) prose() string {
	return "`" + strings.ReplaceAll(p.File, "`", "'") + ":" + strconv.FormatInt(p.Line, 10) + "`"
}
