// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/sum"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// How much of a report a page shows.
const (
	maxFindings      = 100
	maxGroups        = 100 // of the groups with the most time
	maxSlowGroups    = 10
	maxCurves        = 6 // of them
	maxStages        = 40
	maxDistributions = 9
	maxShares        = 12
	maxCounters      = 40
	maxErrors        = 20
	maxSlowest       = 50
	maxSlowStages    = 4
	maxProblems      = 50
	maxPlaces        = 5
	maxRevisions     = 50
)

// enough is how many decisions a group must have to be among the slowest, if
// any has so many: fewer have no p99 to speak of.
const enough = 100

// outcomes are the names of the outcomes, in their order.
var outcomes = [...]rollup.Outcome{rollup.Allowed, rollup.Denied, rollup.OtherResult, rollup.Undefined, rollup.Error, rollup.Cancelled}

// finding is a finding whose parts are by turns text and names, which are
// between backticks in a report.
type finding struct {
	Rule  string
	Parts []string
}

// IsName reports whether a part is a name.
func (finding) IsName(i int) bool { return i%2 == 1 }

// A view is a report as the page shows it.
type view struct {
	Policy string
	Style  template.CSS

	Read, Period     string
	Interrupted      bool
	Findings         []finding
	MoreFindings     int
	Figures          []fact
	Outcomes         []entry
	Latency          *figure
	GroupLatencies   []figure
	Distributions    []figure
	Legend           []entry
	MoreStages       int
	Shares           *figure
	OutcomesOverTime *figure
	Slow             table
	SlowNote         string
	Decisions        table
	Revisions        table
	Notes            []string
	Problems         table
	Group, GroupList string // what a group is called, and several
	All              table
	Stages           table
	Details          []detail
	MoreGroups       string
}

// A fact is a key figure.
type fact struct{ Name, Value, Note string }

// A detail is a group with its stages.
type detail struct {
	Name, Summary string
	Lines         []string
	Stages        table
}

func viewOf(r *report.Report) (*view, error) {
	v := &view{
		Read:        readOf(&r.Inputs),
		Period:      periodText(r),
		Interrupted: r.Interrupted,
		Figures:     factsOf(r),
		Outcomes:    outcomesOf(&r.Total),
		Legend:      distributionLegend,
		Decisions:   decisionsOf(r),
		Revisions:   revisionsOf(r.Revisions),
		Notes:       notesOf(r),
		Problems:    problemsOf(r.Inputs.Problems),
		Stages:      stagesOf(&r.Total),
	}
	v.Group, v.GroupList = groupNames(r.By)
	var findings []report.Finding
	findings, v.MoreFindings = atMost(r.Findings, maxFindings)
	for _, f := range findings {
		v.Findings = append(v.Findings, finding{text.Fit(f.Rule, labelLength), strings.Split(text.Fit(f.Text, findingLength), "`")})
	}

	slow := slowest(r.Groups)
	v.Slow = v.groupsTable(r, "slowest "+v.GroupList, slow)
	v.SlowNote = slowNote(slow, v.GroupList)
	all := make([]*report.Group, min(r.Groups.Len(), maxGroups))
	for i := range all {
		all[i] = r.Groups.Sum(i)
		v.Details = append(v.Details, detailOf(all[i]))
	}
	v.All = v.groupsTable(r, "all "+v.GroupList, all)
	if more := r.Groups.Len() - len(all); more > 0 {
		v.MoreGroups = fmt.Sprintf("These are the %s %s with the most time. There are %s more.", text.Count(maxGroups), v.GroupList, text.Count(more))
	}
	return v, v.draw(r, slow)
}

// draw draws the figures.
func (v *view) draw(r *report.Report, slow []*report.Group) (err error) {
	if v.Latency, err = latencyFigure(r); err != nil {
		return err
	}
	curves, _ := atMost(slow, maxCurves)
	if v.GroupLatencies, err = groupLatencyFigures(curves, r.Width); err != nil {
		return err
	}
	if v.OutcomesOverTime, err = outcomesFigure(r); err != nil {
		return err
	}
	stages := r.Total.ByTime()
	if shares, more := atMost(stages, maxShares); len(shares) > 0 {
		if v.Shares, err = shareFigure(shares, r.Total.Time); err != nil {
			return err
		}
		v.Shares.Note = moreOf(more, "stage")
	}
	for _, s := range stages {
		if s.Max == 0 {
			continue
		}
		if len(v.Distributions) == maxDistributions {
			v.MoreStages++
			continue
		}
		f, err := distributionFigure(s.Stage)
		if err != nil {
			return err
		}
		v.Distributions = append(v.Distributions, f)
	}
	return nil
}

// groupNames returns what a group is called in a heading, and several of them
// in a sentence.
func groupNames(by string) (one, several string) {
	switch by {
	case "", "path":
		return "Path", "paths"
	case "hour":
		return "Hour", "hours"
	case "bundle":
		return "Bundle", "bundles"
	}
	return text.Fit(by, labelLength), "groups"
}

func readOf(in *report.Inputs) string {
	return text.Plural(in.Decisions, "decision") + " in " + text.Plural(in.Files, "file") + ", " + size(in.Bytes)
}

func periodText(r *report.Report) string {
	if r.From == decisionlog.NoTime || r.To == decisionlog.NoTime {
		return "No decision has a time."
	}
	return instant(r.From, text.ToTheSecond) + " to " + instant(r.To, text.ToTheSecond) + " UTC"
}

func factsOf(r *report.Report) []fact {
	facts := []fact{{"Decisions", text.Count(r.Total.Decisions), text.Plural(r.Groups.Len(), "group") + " by " + text.Fit(cmp.Or(r.By, "path"), labelLength)}}
	if r.From != decisionlog.NoTime && r.To > r.From {
		span := seconds(r.To) - seconds(r.From)
		facts = append(facts, fact{"Period", duration(span * 1e9), threeDigitsAtMost(float64(r.Total.Decisions)/span) + " decisions a second"})
	}
	if s := report.Outermost(r.Total.Stages); s != nil {
		q := quantilesOf(&r.Total, s)
		name := labelText(s.Name)
		facts = append(facts, fact{"p50", q[0], name}, fact{"p99", q[3], name}, fact{"Slowest", q[5], name})
	}
	if all := sum.Float(r.Total.Time); all > 0 {
		facts = append(facts, fact{"Time, together", duration(all), "of all decisions"})
	}
	return facts
}

func outcomesOf(g *report.Group) (all []entry) {
	for o, n := range g.Outcomes {
		if n > 0 {
			all = append(all, entry{inkAllowed + ink(o), fmt.Sprintf("%s %s (%s)", outcomes[o], percent(sum.Ratio(n, g.Decisions)), text.Count(n))})
		}
	}
	return all
}

func slowNote(slow []*report.Group, groups string) string {
	if len(slow) > 0 && slow[0].Decisions >= enough {
		return fmt.Sprintf("The %s with the highest p99, of those with at least %d decisions.", groups, enough)
	}
	return fmt.Sprintf("The %s with the highest p99. None has %d decisions, so take it with caution.", groups, enough)
}

func detailOf(g *report.Group) detail {
	d := detail{Name: keyText(g.Key), Summary: text.Plural(g.Decisions, "decision"), Stages: stagesOf(g)}
	var parts []string
	for _, o := range outcomesOf(g) {
		parts = append(parts, o.Text)
	}
	d.add("Outcomes", parts, 0)

	parts = nil
	errors, more := atMost(g.Errors, maxErrors)
	for _, e := range errors {
		parts = append(parts, keyText(e.Code)+" "+text.Count(e.Total))
	}
	d.add("Errors", parts, more)

	parts = nil
	counters, more := atMost(g.Counters, maxCounters)
	for _, c := range counters {
		parts = append(parts, keyText(c.Name)+" "+total(c.Total))
	}
	d.add("Counters", parts, more)
	return d
}

// add adds a line, unless it would be empty.
func (d *detail) add(name string, parts []string, more int) {
	if more > 0 {
		parts = append(parts, text.Count(more)+" more")
	}
	if len(parts) > 0 {
		d.Lines = append(d.Lines, name+": "+strings.Join(parts, ", "))
	}
}

// total formats the total of a counter.
func total(s groupby.Sum) string {
	if s.Hi == 0 {
		return text.Count(s.Lo)
	}
	return fmt.Sprintf("%.4g", sum.Float(s))
}

// notesOf says what else there is to know about what was read.
func notesOf(r *report.Report) (notes []string) {
	in := &r.Inputs
	if len(in.Problems) == 0 {
		notes = append(notes, "All that looked like a decision could be read.")
	}
	if in.OtherLines > 0 {
		notes = append(notes, text.Plural(in.OtherLines, "line")+" that are no decisions, such as other log messages, were passed over.")
	}
	if in.Repeated > 0 {
		notes = append(notes, fmt.Sprintf("Of a sample of %s decision ids, %s were there before: a log may have been given twice.",
			text.Count(in.Sampled), text.Count(in.Repeated)))
	}
	o := r.Overflow
	if o.Decisions > 0 {
		notes = append(notes, text.Plural(o.Decisions, "decision")+" are in the group “other”, because there were too many different groups.")
	}
	if o.Stages > 0 {
		notes = append(notes, text.Plural(o.Stages, "timing")+" are in the stage “other”, because there were too many different names.")
	}
	if o.Counters > 0 {
		notes = append(notes, "Counters are in “other”, because there were too many different names.")
	}
	return notes
}
