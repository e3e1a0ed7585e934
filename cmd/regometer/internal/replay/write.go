// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/regometer/regometer/cmd/regometer/internal/output"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

// WriteJSON writes the whole report as JSON. The error is that of w.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Write writes the report for people.
func (r *Report) Write(w output.Writer, top int) {
	for _, p := range r.summary() {
		w.Prose(p)
	}
	show := func(title string, t *text.Table) {
		if all := len(t.Rows); all > 0 {
			w.Title(title)
			t.Rows = text.First(t.Rows, top)
			w.Table(t)
			output.WriteMore(w, top, all)
		}
	}
	paths := text.NewTable(1, "path", "decisions", "equal", "changed", "apart", "not repeatable", "median", "in the log", "p99", "in the log")
	for _, p := range r.Paths {
		paths.Add(p.Path, text.Count(p.Decisions), text.Count(p.Equal), text.Count(p.Changed), text.Count(p.Apart), text.Count(p.NotRepeatable),
			duration(p.Replayed.Median), duration(p.Logged.Median), duration(p.Replayed.P99), duration(p.Logged.P99))
	}
	show("Results"+r.ofSample(inSample), paths)
	differences, examples := r.differences()
	show("Examples of decisions that are not equal", differences)
	for _, x := range text.First(examples, top) {
		if x.Input != "" { // which no cell has room for
			w.Item(x.ID, "The input of this decision:", x.Input)
		}
	}
	if r.Times != nil && len(r.Times.Stages) > 0 {
		w.Title("Evaluations" + r.ofSample(inSample) + " with the policy before and after")
		w.Table(r.Times.StageTable(top)) // with all rows of a stage
		output.WriteMore(w, top, len(r.Times.Stages))
	}
	p := r.Profile
	show("Rules by their own time", p.RuleTable())
	lines := text.NewTable(2, "source", "place", "time", "share", "evaluated")
	for _, x := range p.Lines {
		lines.Add(cmp.Or(x.Text, x.Name), x.place(), text.Duration(x.Time), p.share(x.Time), count(x.Evaluated))
	}
	show("Lines by time", lines)
	builtins := text.NewTable(1, "built-in function", "time", "share", "calls")
	for _, x := range p.Builtins {
		builtins.Add(x.Name, text.Duration(x.Time), p.share(x.Time), count(x.Evaluated))
	}
	show("Built-in functions by time", builtins)
	never := text.NewTable(2, "rule", "place")
	for _, x := range p.Unreached {
		never.Add(x.Name, x.place())
	}
	show(fmt.Sprintf("Rules and lines that no evaluation%s reached: %s", r.ofSample(inSample), text.Count(len(p.Unreached))), never)
}

// differences returns examples of the decisions that are not equal, as a table
// too. Those that changed come first.
func (r *Report) differences() (t *text.Table, all []*Example) {
	const few = 3 // examples of a kind and a path
	t = text.NewTable(4, "place", "decision", "path", "difference")
	for _, changes := range []bool{true, false} {
		for _, p := range r.Paths {
			for _, kind := range p.kinds(changes) {
				for _, x := range text.First(p.Examples[kind], few) {
					t.Add(fmt.Sprintf("%s:%d", x.Place.File, x.Place.Line), x.ID, p.Path, kind)
					all = append(all, x)
				}
			}
		}
	}
	return t, all
}

// place writes a place in a policy, with its file and folder.
func (s Source) place() string {
	if s.File == "" {
		return text.None
	}
	return fmt.Sprintf("%s:%d", filepath.Join(filepath.Base(filepath.Dir(s.File)), filepath.Base(s.File)), s.Line)
}

// RuleTable returns a table of the rules.
func (p *Profile) RuleTable() *text.Table {
	t := text.NewTable(2, "rule", "place", "own", "share", "total", "evaluated", "considered", "decisions", "median", "p99")
	t.Columns[6].Drop, t.Columns[7].Drop, t.Columns[8].Drop = 1, 2, 3
	for _, x := range p.Rules {
		t.Add(x.Name, x.place(), text.Duration(x.Time), p.share(x.Time), text.Duration(x.Total), count(x.Evaluated), count(x.Considered),
			text.Count(x.Decisions), text.Duration(x.Median), text.Duration(x.P99))
	}
	return t
}

// share writes the share of a time.
func (p *Profile) share(time float64) string { return text.Percent(time / max(1, p.Time)) }

// duration writes a duration, which nothing has if it is 0.
func duration(ns float64) string {
	if ns == 0 {
		return text.None
	}
	return text.Duration(ns)
}

// count writes an estimated number.
func count(n float64) string { return text.Count(uint64(math.Round(n))) }

// kinds returns the kinds of changes, or else the reasons, those of most
// decisions first.
func (r *Results) kinds(changes bool) []string {
	all := slices.SortedFunc(maps.Keys(r.Kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Kinds[b], r.Kinds[a]), cmp.Compare(a, b))
	})
	return slices.DeleteFunc(all, func(kind string) bool { return isChange(kind) != changes })
}

// ofSample returns what is to say of a sample, or "" if all decisions were
// evaluated.
func (r *Report) ofSample(said string) string {
	if r.All {
		return ""
	}
	return said
}

const inSample = " in the sample"

// summary says in paragraphs how many decisions are equal.
func (r *Report) summary() (said []string) {
	say := func(is bool, format string, values ...any) {
		if is {
			said = append(said, fmt.Sprintf(format, values...))
		}
	}
	unread := ""
	if r.Unread != "" {
		unread = " Others could not be read: " + r.Unread + "."
	}
	some := r.Decisions > 0
	say(!some && !r.Interrupted, "Nothing was replayed, because the log has no decisions that can be read and that the flags select.%s", unread)
	say(some, "Of %s, %s evaluated again%s: %s equal, %s changed, %s apart, %s not repeatable.%s", text.Plural(r.Logged, "decision"),
		text.Count(r.Decisions), r.ofSample(", a sample that stands for all"), text.Count(r.Equal), text.Count(r.Changed), text.Count(r.Apart), text.Count(r.NotRepeatable), unread)
	list := func(changes bool) string {
		all := r.kinds(changes)
		for i, kind := range all {
			all[i] += " (" + text.Count(r.Kinds[kind]) + ")"
		}
		return strings.Join(all, ", ")
	}
	say(r.Changed > 0, "Changed: %s.", list(true))
	say(r.Apart+r.NotRepeatable > 0, "Not compared: %s.", list(false))
	// The first evaluations fill caches, and other load may hide the tracer's cost.
	const few = 200
	say(some && r.Decisions-r.Kinds[lacksPath] >= few && r.Profile.Tracer > 1, "The shares of rules come from a second evaluation with a tracer, which takes %.2f times as long in the median.", r.Profile.Tracer)
	say(r.NotRepeatable > 0 && len(r.Profile.Unreached) > 0, "An evaluation that could not be repeated may have ended early, and the server's may have reached more rules and lines.")
	say(r.OtherRevision > 0, "Policies of another revision made %s of the decisions%s.", text.Count(r.OtherRevision), r.ofSample(inSample))
	say(r.Interrupted, "The replay ended early. The report has what was done until then.")
	return said
}

// Checks returns the thresholds as checks, which fail if they are exceeded or
// cannot be judged, and then what changed.
func (r *Report) Checks([]string) (all []output.Check) {
	given := &r.options.Thresholds
	for _, t := range given.counts {
		n, of := r.of[t.kind], r.of[""] // estimated decisions of the log
		limit := t.limit
		if t.share {
			limit *= of / 100
		}
		const rounding = 1e-9 // of the sum of weights
		c := output.Check{Name: t.text}
		if r.Equal+r.Changed == 0 && t.kind != verdictNames[apart] && t.kind != verdictNames[notRepeatable] {
			c.Texts = []string{"no decision could be compared"}
		} else if n > limit*(1+rounding) {
			c.Texts = []string{fmt.Sprintf("%s of %s%s", count(n), text.Plural(uint64(math.Round(of)), "decision"), r.ofSample(" (estimated from the sample)"))}
		}
		c.Failed = c.Texts != nil
		all = append(all, c)
	}
	if r.Partly {
		all = append(all, output.Check{Name: report.PartlyRead, Failed: len(given.counts)+len(given.Times) > 0, Texts: []string{"The replay has only a part of the log: " + r.Unread + "."}})
	}
	changes := output.Check{Name: "changed"}
	for _, p := range r.Paths {
		for _, kind := range p.kinds(true) {
			x := p.Examples[kind][0]
			changes.Texts = append(changes.Texts, fmt.Sprintf("%s: %s %s%s, such as decision %s in %s:%d", p.Path, text.Count(p.Kinds[kind]), kind, r.ofSample(inSample), x.ID, x.Place.File, x.Place.Line))
		}
	}
	all = append(all, changes)
	if r.Times != nil {
		all = append(all, r.Times.Checks(nil)...)
	}
	return all
}
