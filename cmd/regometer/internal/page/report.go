// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// The limits of the lists on the page of a report.
const (
	maxGroups  = 100 // groups with the most time
	maxMembers = 20  // servers, and clients
)

// Write writes the page of a report, which has at most a few megabytes. It does
// not change the report. The error is that of w.
func Write(w io.Writer, r *report.Report) error {
	v := view{r, New("OPA decisions, "+periodOf(r), "regometer report")}
	v.writeFindings()
	v.writeFacts()
	v.writeMembers("Servers", r.Servers(), func(f report.Finding) string { return f.Server })
	v.writeMembers("Clients", r.Clients(), func(f report.Finding) string { return f.Client })
	v.writeLatency()
	v.writeOutcomes()
	v.Title("Stages of all decisions")
	stages := report.StageTable(&r.Total)
	v.Table(stages)
	v.writeRevisions()
	v.writeGroups()
	r.WriteRest(v)
	return v.Document.Write(w)
}

// periodOf says when the decisions were made.
func periodOf(r *report.Report) string {
	if r.From == logread.NoTime {
		return "without times"
	}
	return between(r.From, r.To)
}

// between names two times, with one date if both have the same.
func between(from, to int64) string {
	begin := text.Time(from, text.ToTheSecond)
	date, _, _ := strings.Cut(begin, " ")
	return begin + " to " + strings.TrimPrefix(text.Time(to, text.ToTheSecond), date+" ") + " UTC"
}

// writeFindings writes the findings with their numbers and subjects.
func (v view) writeFindings() {
	v.Title("Findings")
	for _, said := range append(v.Coverage(), v.Summary()) {
		if said != "" {
			v.Prose(said)
		}
	}
	for i, f := range v.Findings {
		x := item{Class: cmp.Or(f.Severity, report.Fault), Name: f.Title(), Text: f.Text, Command: f.Command, Number: i + 1}
		for _, of := range [][2]string{{"path", f.Path}, {"server", f.Server}, {"client", f.Client}, {"revision", f.Revision}} {
			if of[1] != "" {
				x.Subject += of[0] + " `" + strings.ReplaceAll(text.Fit(of[1], labelLength), "`", "'") + "` "
			}
		}
		from, begins := v.within(f.From)
		if to, ends := v.within(f.To); begins || ends {
			x.Subject += between(from, to)
		}
		v.item(x)
	}
}

// writeFacts writes the key figures, and the outcomes of all decisions.
func (v view) writeFacts() {
	v.Title("Key figures")
	facts := []fact{{"Decisions", text.Count(v.Total.Decisions), text.Plural(v.Groups.Len(), "group") + " by " + text.Fit(v.By, labelLength)}}
	if v.From != logread.NoTime && v.To > v.From {
		span := seconds(v.To) - seconds(v.From)
		facts = append(facts, fact{"Period", text.LongDuration(span * 1e9), threeDigits(float64(int64(v.Total.Decisions)-v.Inputs.Gaps.Time)/span) + " decisions a second"})
	}
	if s := report.Outermost(v.Total.Stages); s != nil {
		q, name := report.Quantiles(s), text.Fit(s.Name, labelLength)
		facts = append(facts, fact{"p50", q[0], name}, fact{"p99", q[3], name}, fact{"Slowest", q[5], name})
	}
	if all := report.Float(v.Total.Time); all > 0 {
		facts = append(facts, fact{"Total time", text.LongDuration(all), "of all decisions"})
	}
	v.add(block{Facts: facts, Legend: v.shares()})
}

// newTable returns a table with these titles, then one for each outcome that the
// log has, and more. The first n columns have names.
func (v view) newTable(n int, titles []string, more ...string) *text.Table {
	for o, n := range v.Total.Outcomes {
		if n > 0 {
			titles = append(titles, wordOf(o))
		}
	}
	return text.NewTable(n, append(titles, more...)...)
}

// outcomeShares returns the cells for the columns of outcomes. A path without any
// yes or no has no share of allowed decisions, rather than 0 %.
func (v view) outcomeShares(of outcomes, decisions uint64) (shares []string) {
	verdict := of[outcome.Allowed]+of[outcome.Denied] > 0
	for o, n := range v.Total.Outcomes {
		switch {
		case n > 0 && !verdict && outcome.Outcome(o) <= outcome.Denied:
			shares = append(shares, text.None)
		case n > 0:
			shares = append(shares, text.Percent(report.Ratio(of[o], decisions)))
		}
	}
	return shares
}

// writeGroups writes the groups with the most time: a table of all, and each
// with its stages.
func (v view) writeGroups() {
	groups := v.Top(maxGroups)
	v.Title("Overview by " + v.By)
	t := v.newTable(1, []string{v.By, "decisions"}, append([]string{"share of time"}, report.QuantileTitles...)...)
	for _, g := range groups {
		row := append([]string{g.Key, text.Count(g.Decisions)}, v.outcomeShares(g.Outcomes, g.Decisions)...)
		t.Add(append(append(row, text.Percent(report.Share(g.Time, v.Total.Time))), report.Quantiles(report.Outermost(g.Stages))...)...)
	}
	v.table(t, maxGroups)
	v.WriteGroups(v, groups, "")
}

// writeMembers writes a table of servers or clients if a finding names one.
// Those that findings name come first.
func (v view) writeMembers(title string, all []report.Member, subject func(report.Finding) string) {
	findings := map[string][]string{} // the numbers of findings, by the name
	for i, f := range v.Findings {
		if name := subject(f); name != "" {
			findings[name] = append(findings[name], strconv.Itoa(i+1))
		}
	}
	if len(findings) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b report.Member) int {
		return cmp.Or(min(len(findings[b.Name]), 1)-min(len(findings[a.Name]), 1), cmp.Compare(b.Decisions(), a.Decisions()))
	})
	t := v.newTable(4, []string{"name", "finding", "first decision", "last decision", "decisions"})
	for _, m := range all {
		name := m.Name
		if m.ID != "" && m.ID != m.Name {
			name = nameText(name) + " (id " + nameText(m.ID) + ")"
		}
		t.Add(append([]string{name, cmp.Or(strings.Join(findings[m.Name], ", "), text.None), text.Time(m.First, text.ToTheSecond),
			text.Time(m.Last, text.ToTheSecond), text.Count(m.Decisions())}, v.outcomeShares(m.Outcomes, m.Decisions())...)...)
	}
	v.Title(title)
	v.table(t, maxMembers)
}

// writeRevisions writes a table of the bundle revisions.
func (v view) writeRevisions() {
	if len(v.Revisions) == 0 {
		return
	}
	v.Title("Evaluation, by bundle revision")
	t := text.NewTable(3, append([]string{"revision", "first decision", "last decision", "evaluations"}, report.QuantileTitles...)...)
	for _, r := range v.Revisions {
		t.Add(append([]string{r.Name, text.Time(r.First, text.ToTheSecond), text.Time(r.Last, text.ToTheSecond),
			text.Count(r.Evaluation.Durations.Count())}, report.Quantiles(&r.Evaluation)...)...)
	}
	v.Table(t)
}
