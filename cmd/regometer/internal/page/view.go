// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/chart"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/internal/stages"
)

// The limits of the lists on a page.
const (
	maxGroups     = 100 // groups with the most time, and findings
	maxMarks      = 9   // findings whose times are in charts
	maxMembers    = 20  // servers, and clients
	maxRows       = 40  // rows of other tables, and names in a line
	maxCurves     = 6   // charts of slowest groups
	maxSlowStages = 4   // stages of a slow decision
)

// enough is the number of decisions with a p99 that says something.
const enough = 100

// A view is a report as the page shows it. The template calls its methods.
type view struct {
	style
	*report.Report
	Group, GroupList string // what a group is in a heading, and groups in a sentence
	Faults, Infos    []finding

	slow   []*report.Group  // with the highest p99
	all    []*report.Group  // with the most time
	stages []report.Figures // of all decisions
}

func newView(r *report.Report) *view {
	v := &view{style: style(styleText), Report: r, slow: slowest(r.Groups, max(enough, 5*uint64(len(r.Total.Slices)))), stages: r.Total.ByTime()}
	first, _ := atMost(r.Findings, maxGroups)
	for i, f := range first {
		to := &v.Faults
		if f.Severity == report.Info {
			to = &v.Infos
		}
		*to = append(*to, finding{f, i + 1, v.when(f)})
	}
	for i := range min(r.Groups.Len(), maxGroups) {
		v.all = append(v.all, r.Groups.Sum(i))
	}
	v.Group, v.GroupList = text.Fit(r.By, labelLength), "groups"
	if by := cmp.Or(r.By, "path"); by == "path" || by == "hour" || by == "bundle" {
		v.Group, v.GroupList = strings.ToUpper(by[:1])+by[1:], by+"s"
	}
	return v
}

// slowest returns the groups with the highest p99 of their outermost stage. If
// some have enough decisions, it leaves out the others.
func slowest(groups report.Groups, enough uint64) (found []*report.Group) {
	type candidate struct {
		at  int
		p99 float64
	}
	var all []candidate
	for i, g := range groups.Sums() {
		if s := report.Outermost(g.Stages); s != nil && g.Decisions >= enough {
			all = append(all, candidate{i, s.Durations.Quantile(0.99)})
		}
	}
	if len(all) == 0 && enough > 0 {
		return slowest(groups, 0)
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.p99, a.p99) })
	for _, c := range all[:min(len(all), maxCurves)] {
		found = append(found, groups.At(c.at))
	}
	return found
}

// Period says when the decisions were made.
func (v *view) Period() string {
	if v.From == logread.NoTime {
		return "No decision has a time."
	}
	return instant(v.From, text.ToTheSecond) + " to " + instant(v.To, text.ToTheSecond) + " UTC"
}

// Title is that of the page.
func (v *view) Title() string { return "OPA decisions, " + v.Period() }

// Generator names the command that writes the page.
func (v *view) Generator() string { return "regometer report" }

// Read describes the input.
func (v *view) Read() string {
	in := &v.Inputs
	return text.Plural(in.Decisions, "decision") + " in " + text.Plural(in.Files, "file") + ", " + size(in.Bytes)
}

// A finding has its number among all, and its times, or "" if they are those of
// the log.
type finding struct {
	report.Finding
	Number int
	When   string
}

// when says when a finding begins and ends.
func (v *view) when(f report.Finding) string {
	from, begins := v.within(f.From)
	to, ends := v.within(f.To)
	if !begins && !ends {
		return ""
	}
	return instant(from, text.ToTheSecond) + " to " + instant(to, text.ToTheSecond) + " UTC"
}

// within reads the time of a finding. It returns false if the time is that of
// the first or the last decision, or near it.
func (v *view) within(t string) (ns int64, ok bool) {
	at, err := time.Parse(time.RFC3339Nano, t)
	ns = at.UnixNano()
	from, to := seconds(v.From), seconds(v.To)
	return ns, err == nil && min(seconds(ns)-from, to-seconds(ns)) > (to-from)/100
}

// MoreFindings returns the number of findings that are not shown.
func (v *view) MoreFindings() int { return max(0, len(v.Report.Findings)-maxGroups) }

// marks returns the times at which the first findings begin and end within the
// log, with the numbers of the findings. If the path is not empty, it leaves
// out findings about other paths.
func (v *view) marks(path string) (all []chart.Mark) {
	first, _ := atMost(v.Report.Findings, maxMarks)
	for i, f := range first {
		if path != "" && f.Path != "" && f.Path != path {
			continue
		}
		for _, t := range []string{f.From, f.To} {
			if ns, ok := v.within(t); ok {
				all = append(all, chart.Mark{At: seconds(ns), Label: fmt.Sprint(i + 1)})
			}
		}
	}
	return all
}

// marksNote explains the marks in charts over time.
func (v *view) marksNote() string {
	if len(v.marks("")) == 0 {
		return ""
	}
	return " Each numbered line is where the finding with this number begins or ends."
}

// A fact is a key figure.
type fact struct{ Name, Value, Note string }

// Facts returns the key figures.
func (v *view) Facts() []fact {
	decisions := v.Total.Decisions
	facts := []fact{{"Decisions", text.Count(decisions), text.Plural(v.Groups.Len(), "group") + " by " + text.Fit(cmp.Or(v.By, "path"), labelLength)}}
	if v.From != logread.NoTime && v.To > v.From {
		span := seconds(v.To) - seconds(v.From)
		facts = append(facts, fact{"Period", duration(span * 1e9), threeDigitsAtMost(float64(decisions)/span) + " decisions a second"})
	}
	if s := report.Outermost(v.Total.Stages); s != nil {
		q := quantilesOf(&v.Total, s)
		name := labelText(s.Name)
		facts = append(facts, fact{"p50", q[0], name}, fact{"p99", q[3], name}, fact{"Slowest", q[5], name})
	}
	if all := report.Float(v.Total.Time); all > 0 {
		facts = append(facts, fact{"Total time", duration(all), "of all decisions"})
	}
	return facts
}

// Outcomes returns the outcomes of all decisions.
func (v *view) Outcomes() []entry { return outcomesOf(&v.Total) }

func outcomesOf(g *report.Group) (all []entry) {
	for o, n := range g.Outcomes {
		if n > 0 {
			all = append(all, entry{inkOf(o), fmt.Sprintf("%s %s (%s)", wordOf(o), percent(report.Ratio(n, g.Decisions)), text.Count(n))})
		}
	}
	return all
}

// helpOf describes a stage of OPA. It returns "" for other stages.
func helpOf(stage string) string {
	for _, s := range stages.DefaultStages() {
		if s.Name == stage {
			return s.Help
		}
	}
	return ""
}

// Stages returns the table of all stages.
func (v *view) Stages() table { return stagesOf("all stages", &v.Total) }

// A detail is a group with its stages.
type detail struct {
	Name, Summary string
	Lines         []string
	Stages        table
}

// Details returns the groups with the most time.
func (v *view) Details() (all []detail) {
	for _, g := range v.all {
		d := detail{Name: keyText(g.Key), Summary: text.Plural(g.Decisions, "decision"), Stages: stagesOf("stages of "+keyText(g.Key), g)}
		for _, line := range [][2]string{
			{"Outcomes", joined(outcomesOf(g), maxRows, func(e entry) string { return e.Text })},
			{"Errors", joined(g.Errors, maxRows, func(e stages.ErrorTotal) string { return keyText(e.Code) + " " + text.Count(e.Total) })},
			{"Counters", joined(g.Counters, maxRows, func(c groupby.Counter) string { return keyText(c.Name) + " " + total(c.Total) })},
		} {
			if line[1] != "" {
				d.Lines = append(d.Lines, line[0]+": "+line[1])
			}
		}
		if sizes := v.SizesText(g); sizes != "" {
			d.Lines = append(d.Lines, sizes)
		}
		all = append(all, d)
	}
	return all
}

// joined writes the first n elements, and the number of the others.
func joined[T any](all []T, n int, write func(T) string) string {
	var parts []string
	shown, more := atMost(all, n)
	for _, v := range shown {
		parts = append(parts, write(v))
	}
	if more > 0 {
		parts = append(parts, text.Count(more)+" more")
	}
	return strings.Join(parts, ", ")
}

// total formats the total of a counter.
func total(s groupby.Sum) string {
	if s.Hi == 0 {
		return text.Count(s.Lo)
	}
	return fmt.Sprintf("%.4g", report.Float(s))
}

// Notes describes the quality of the input.
func (v *view) Notes() (notes []string) {
	in := &v.Inputs
	for _, n := range []struct {
		holds bool
		text  string
	}{
		{len(in.Problems) == 0 && v.Inputs.Gaps.Any == 0, "Everything that looked like a decision could be read."},
		{len(in.Problems) == 0 && v.Inputs.Gaps.Any > 0, text.Plural(in.Gaps.Any, "decision") + " could be read only in part. The findings begin with what is missing."},
		{in.OtherLines > 0, "Skipped " + text.Plural(in.OtherLines, "line") + " without a decision, such as other log messages."},
		{in.Repeats.LeftOut > 0, "Left out " + text.Plural(in.Repeats.LeftOut, "repeat") + " of other decisions."},
	} {
		if n.holds {
			notes = append(notes, n.text)
		}
	}
	return notes
}
