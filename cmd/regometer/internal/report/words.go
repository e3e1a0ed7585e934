// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
)

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

// Quantiles returns the cells of a table with the quantiles and the maximum of a
// stage, which may be nil.
func Quantiles(s *groupby.Stage) []string {
	if s == nil || s.Durations.Count() == 0 { // no timer has finished
		return slices.Repeat([]string{text.None}, len(QuantileTitles))
	}
	var cells []string
	for _, ns := range quantiles(&s.Durations) {
		cells = append(cells, text.Duration(float64(ns)))
	}
	return append(cells, text.Duration(float64(s.Durations.Max())))
}

// StageTable returns a table of the stages of a group.
func StageTable(g *Group) *text.Table {
	t := text.NewTable(1, append([]string{"stage", "share", "count"}, QuantileTitles...)...)
	for i, drop := range [...]int{4, 6, 2, 1, 0, 3, 5} { // from the count on
		t.Columns[2+i].Drop = drop
	}
	for _, s := range byTime(g) {
		t.Add(append([]string{s.Name, text.Percent(Share(s.Self, g.Time)), text.Count(s.Durations.Count())}, Quantiles(s)...)...)
	}
	return t
}

// SizesText describes the sizes of the events of a group, or returns "" if it
// has none.
func (r *Report) SizesText(g *Group) string {
	s, median := &g.Sizes, ""
	if s.Total == 0 {
		return ""
	}
	if s.Median > 0 {
		median = ", the median " + text.Bytes(s.Median)
	}
	return fmt.Sprintf("Events: %s (%s of all%s)%s, the largest %s.",
		text.Bytes(s.Total), text.Percent(Ratio(s.Total, r.Total.Sizes.Total)), partsText(s, "; ", ""), median, text.Bytes(s.Max))
}

// groupText says in words how the decisions of a group ended.
func groupText(g *Group) string {
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
	return words
}

// errorCodes lists the three most frequent codes.
func errorCodes(errors []stages.ErrorTotal) string {
	sorted := slices.Clone(errors)
	slices.SortStableFunc(sorted, func(a, b stages.ErrorTotal) int { return cmp.Compare(b.Total, a.Total) })
	return listed(sorted, func(e stages.ErrorTotal) string { return text.Fit(e.Code, 80) + " " + text.Count(e.Total) })
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
