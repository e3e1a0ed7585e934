// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/regometer/regometer/exphist"
)

// Profile says which rules take the time. Times are in ns, of all decisions of
// the log. Of a sample, they are estimates.
type Profile struct {
	Time     float64    `json:"time"`     // of all evaluations
	Tracer   float64    `json:"tracer"`   // how many times as long a traced evaluation takes
	Rules    []RuleTime `json:"rules"`    // definitions that were evaluated, by their own time
	Lines    []Time     `json:"lines"`    // by time
	Builtins []Time     `json:"builtins"` // functions, by time
	// Unreached are the rules that no evaluation reached, and then the lines of
	// other rules. Those of tests are left out.
	Unreached []Source `json:"unreached"`

	tracers []*tracer
}

// A Source is a place in a policy. A built-in function has only a name.
type Source struct {
	Name string `json:"name"` // of the rule or function
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// Time is the time in a line, a rule or a built-in function.
type Time struct {
	Source
	Text      string  `json:"text,omitempty"` // of a line
	Time      float64 `json:"time"`           // without the rules that it needs
	Evaluated float64 `json:"evaluated"`      // times; of a line, its expressions
}

// RuleTime is the time of a definition of a rule.
type RuleTime struct {
	Time
	Total      float64 `json:"total"`      // with the rules that it needs
	Considered float64 `json:"considered"` // times that the index of rules was asked, or more
	Decisions  uint64  `json:"decisions"`  // evaluated ones that reach it
	Quantiles          // of the time with the rules that it needs, of these
}

// walk calls do with each line of each way, the path of its query, and its time
// as it was not traced.
func (p *Profile) walk(do func(path string, l *line, time float64)) {
	for _, t := range p.tracers {
		for _, path := range slices.Sorted(maps.Keys(t.queries)) {
			q := t.queries[path]
			q.walk(func(l *line) { do(path, l, l.time*q.plain/max(1, q.traced)) })
		}
	}
}

func (f *frame) walk(do func(*line)) {
	for _, l := range f.lines {
		do(l)
		for _, callee := range l.calls {
			callee.walk(do)
		}
	}
}

// profileOf returns what tracers of the same policy have measured.
func profileOf(all ...*tracer) *Profile {
	policy, p, traced := all[0].policy, &Profile{tracers: all}, 0.0
	rules, spans := make([]RuleTime, len(policy.rules)), make([]exphist.Snapshot, len(policy.rules))
	for _, t := range all {
		p.Time += t.others.plain
		traced += t.others.traced
		for i := range t.rules {
			rules[i].Evaluated += t.rules[i].evaluated
			if h := t.rules[i].spans; h != nil {
				var s exphist.Snapshot
				h.Snapshot(&s)
				_ = spans[i].Merge(&s) // both have the same layout
			}
		}
		delete(t.lookups, nil) // of rules that the policy lacks
		for node, n := range t.lookups {
			for _, r := range node.Values {
				for ; r != nil; r = r.Else {
					rules[policy.numbers[r]].Considered += n
				}
			}
		}
	}
	lines, builtins := map[Source]*Time{}, map[Source]*Time{}
	p.walk(func(_ string, l *line, time float64) {
		at := Source{Name: queryName}
		if l.rule != queryRule {
			at = policy.rules[l.rule].line(l.row)
			rules[l.rule].Time.Time += time
		}
		for f := l.frame; f.rule != queryRule; f = f.from.frame {
			rules[f.rule].Total += time
		}
		add(lines, at, time, l.count)
		if l.builtin != "" {
			add(builtins, Source{Name: l.builtin}, time, l.count)
		}
	})
	p.Tracer = traced / max(1, p.Time)
	for i := range rules {
		if r, s := &rules[i], &spans[i]; s.Count() > 0 {
			r.Source, r.Decisions, r.Quantiles = policy.rules[i].Source, s.Count(), quantilesOf(s)
			p.Rules = append(p.Rules, *r)
		}
	}
	slices.SortFunc(p.Rules, func(a, b RuleTime) int { return compareTimes(a.Time, b.Time) })
	if p.Time > 0 { // else nothing was evaluated
		p.Unreached = policy.unreached(spans, lines)
	}
	p.Lines, p.Builtins = timesOf(lines), timesOf(builtins)
	for i := range p.Lines {
		l := &p.Lines[i]
		if rows := policy.sources[l.File]; l.Line <= len(rows) && rows != nil {
			l.Text = strings.TrimSpace(rows[l.Line-1])
		}
	}
	return p
}

// add adds time and evaluations to those of a place.
func add(to map[Source]*Time, at Source, time, evaluated float64) {
	if to[at] == nil {
		to[at] = &Time{Source: at}
	}
	to[at].Time += time
	to[at].Evaluated += evaluated
}

// timesOf returns times, of which the greatest come first.
func timesOf(of map[Source]*Time) (all []Time) {
	for _, t := range of {
		all = append(all, *t)
	}
	slices.SortFunc(all, compareTimes)
	return all
}

func compareTimes(a, b Time) int {
	return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
}

// line returns the place of a line of the rule.
func (r *rule) line(row int) Source { return Source{r.Name, r.File, row} }

// queryName is the name of the query, which is no rule.
const queryName = "(query)"

// unreached returns the rules, and the lines of other rules, that no evaluation
// reached.
func (p *Policy) unreached(reached []exphist.Snapshot, lines map[Source]*Time) (rules []Source) {
	var rest []Source
	for i := range p.rules {
		r := &p.rules[i]
		if strings.HasSuffix(r.File, "_test.rego") {
			continue
		}
		if reached[i].Count() == 0 {
			rules = append(rules, r.Source)
			continue
		}
		for _, row := range r.rows {
			if at := r.line(row); lines[at] == nil {
				rest = append(rest, at)
			}
		}
	}
	return append(rules, rest...)
}

// WritePprof writes a profile for go tool pprof.
func (p *Profile) WritePprof(w io.Writer) error { return p.pprof().Write(w) }

// pprof returns a profile whose functions are rules, and whose samples are lines
// on one way to them, with the path as a label.
func (p *Profile) pprof() *profile.Profile {
	out := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "evaluations", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}},
		PeriodType:        &profile.ValueType{Type: "time", Unit: "nanoseconds"},
		Period:            1,
		DefaultSampleType: "time",
	}
	// The query, whose number is below those of the rules, comes first.
	for i, r := range append([]rule{{Source: Source{Name: queryName}}}, p.tracers[0].policy.rules...) {
		f := &profile.Function{ID: uint64(i + 1), Name: r.Name, SystemName: r.Name, Filename: r.File, StartLine: int64(r.Line)}
		out.Function = append(out.Function, f) // those without a sample are left out below
	}
	locations := map[[2]int]*profile.Location{}
	locate := func(l *line) *profile.Location {
		at := [2]int{l.rule, l.row}
		if locations[at] == nil {
			locations[at] = &profile.Location{ID: uint64(len(locations) + 1), Line: []profile.Line{{Function: out.Function[l.rule-queryRule], Line: int64(l.row)}}}
			out.Location = append(out.Location, locations[at])
		}
		return locations[at]
	}
	p.walk(func(path string, l *line, time float64) {
		if time < 1 {
			return
		}
		s := &profile.Sample{Value: []int64{int64(math.Round(l.count)), int64(math.Round(time))}, Label: map[string][]string{"path": {path}}}
		for at := l; at != nil; at = at.from {
			s.Location = append(s.Location, locate(at))
		}
		out.Sample = append(out.Sample, s)
	})
	return out.Compact()
}
