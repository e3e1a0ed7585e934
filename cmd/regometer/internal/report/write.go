// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
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

// Summary returns the sentence that takes the place of faults if there are none,
// or "".
func (r *Report) Summary() string {
	switch {
	case slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity != Info }):
		return ""
	case r.Total.Decisions == 0 && r.Inputs.Decisions > 0 && r.options != nil: // a saved report has no flags
		none := "The flags select none of " + text.Plural(r.Inputs.Decisions, "decision")
		if r.outside.First != logread.NoTime {
			none += fmt.Sprintf(", which are from %s to %s UTC", at(r.outside.First), at(r.outside.Last))
		}
		return none + ". Change `--path`, `--since` or `--until`."
	case r.Total.Decisions == 0:
		return "There are no decisions."
	case len(r.NotRun()) > 0:
		return "The rules that ran found no fault."
	}
	return fmt.Sprintf("Nothing stands out: none of the %d rules found a fault in %s.", len(rules), text.Plural(r.Total.Decisions, "decision"))
}

// Coverage says in paragraphs how much of the decisions could be used for what.
// They have names between backticks, as findings. There are none without
// decisions.
func (r *Report) Coverage() (said []string) {
	if r.Total.Decisions == 0 {
		return nil
	}
	said = []string{r.covered()}
	for _, n := range r.NotRun() {
		said = append(said, fmt.Sprintf("As %s, these rules did not run, or only in part: `%s`.", n.Reason, strings.Join(n.Rules, "`, `")))
	}
	if unjudged := r.unjudged(); unjudged != "" {
		said = append(said, unjudged)
	}
	return said
}

// The least values of a path of which most outcomes are not known.
const (
	unjudgedDecisions = 100
	unjudgedShare     = 0.95
)

// unjudged gives an example of --outcome for the path with the most decisions
// that have another result. Hidden results need another remedy.
func (r *Report) unjudged() string {
	most, key := uint64(r.Inputs.Gaps.Result), ""
	for _, g := range r.Groups.Sums() {
		n := g.Outcomes[outcome.Neither]
		if r.By == "path" && n > most && g.Decisions >= unjudgedDecisions && Ratio(n, g.Decisions) >= unjudgedShare && g.Key != outcome.Query && g.Key != rollup.Other {
			most, key = n, g.Key
		}
	}
	rule, advice := r.sample.exampleOf(key), "If a field of the result says yes or no, name it"
	if rule == listRule {
		advice = "If the result lists reasons to deny, say so"
	}
	flag, ok := quoted([]string{"--outcome", key + "=" + rule})
	switch {
	case key == "":
		return ""
	case rule == numberRule:
		return fmt.Sprintf("%s of path %s have another result: numbers, which no rule of `--outcome` judges.", text.Plural(most, "decision"), name(key))
	case !ok || strings.ContainsAny(key, "=*`"):
		flag = "--outcome"
	}
	return fmt.Sprintf("%s of path %s have another result. %s: `%s`.", text.Plural(most, "decision"), name(key), advice, flag)
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
			Prose: r.groupText(g), Rows: t.Rows,
		})
	}
	w.Title("Decisions by " + r.By)
	w.Sections(&all, sections)
	if len(groups) < r.Groups.Len() {
		w.Prose(fmt.Sprintf("Not shown: %s of %s groups%s.", text.Count(r.Groups.Len()-len(groups)), text.Count(r.Groups.Len()), hint))
	}
}

// groupText says in words how the decisions of a group ended, and how large
// their events are.
func (r *Report) groupText(g *Group) string {
	words := text.Plural(g.Decisions, "decision")
	separator := ": "
	for o, n := range g.Outcomes {
		if n > 0 {
			words += separator + text.Count(n) + map[bool]string{true: " with ", false: " "}[o == int(outcome.Neither)]
			words += OutcomeWord(outcome.Outcome(o))
			separator = ", "
		}
	}
	words += "."
	if codes := errorCodes(g.Errors); codes != "" {
		words += " Errors: " + codes + "."
	}
	if hits, ok := queryCacheHits(g); ok {
		words += " Query cache: " + text.Percent(hits) + " hits."
	}
	if s := &g.Sizes; s.Total > 0 {
		median := ""
		if s.Median > 0 {
			median = ", the median " + text.Bytes(s.Median)
		}
		words += fmt.Sprintf(" Events: %s (%s of all%s)%s, the largest %s.",
			text.Bytes(s.Total), text.Percent(Ratio(s.Total, r.Total.Sizes.Total)), partsText(s, "; ", ""), median, text.Bytes(s.Max))
	}
	return words
}

// errorCodes lists the three most frequent codes.
func errorCodes(errors []stages.ErrorTotal) string {
	sorted := slices.Clone(errors)
	slices.SortStableFunc(sorted, func(a, b stages.ErrorTotal) int { return cmp.Compare(b.Total, a.Total) })
	return listed(sorted, func(e stages.ErrorTotal) string { return text.Fit(e.Code, 80) + " " + text.Count(e.Total) })
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
			text.Time(d.Time, text.ToTheMilli), OutcomeWord(d.Outcome), name(cmp.Or(d.ID, text.None)), more, d.Place.prose()), "")
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

// inputText describes the input.
func inputText(r *Report) string {
	in := r.Inputs
	words := fmt.Sprintf("%s, %s: %s, %s.", text.Plural(in.Files, "file"), text.Bytes(in.Bytes),
		text.Plural(in.Decisions, "decision"), text.Plural(in.OtherLines, "other line"))
	if r.From != logread.NoTime {
		words += fmt.Sprintf(" From %s to %s UTC.", text.Time(r.From, text.ToTheSecond), text.Time(r.To, text.ToTheSecond))
	}
	if n := in.Repeats.LeftOut; n > 0 {
		words += fmt.Sprintf(" Left out: %s.", text.Plural(n, "repeat"))
	}
	if n := in.Repeats.WithoutID; n > 0 && r.options != nil && r.options.Unique {
		words += fmt.Sprintf(" Without an id, so that repeats are not known: %s.", text.Plural(n, "decision"))
	}
	if len(in.Problems) == 0 && in.Gaps.Any+in.Gaps.Unplaced == 0 {
		words += " No problems."
	}
	return words
}

// prose returns a place for prose, with the whole name of the file.
func (p Place) prose() string {
	return "`" + strings.ReplaceAll(p.File, "`", "'") + ":" + strconv.FormatInt(p.Line, 10) + "`"
}
