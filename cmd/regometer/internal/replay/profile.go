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
	Time     float64       `json:"time"`   // of all evaluations
	Tracer   float64       `json:"tracer"` // how many times as long a traced evaluation takes
	Rules    []RuleTime    `json:"rules"`  // that were evaluated, by their own time
	Lines    []LineTime    `json:"lines"`  // by time
	Builtins []BuiltinTime `json:"builtins"`
	// Unreached are the rules that no evaluation reached, and then the lines of
	// other rules. Those of tests are left out.
	Unreached []Source `json:"unreached"`

	tracers []*tracer
}

// A Source is a place in a policy.
type Source struct {
	Rule string `json:"rule"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// RuleTime is the time of a definition of a rule.
type RuleTime struct {
	Source
	Own        float64 `json:"own"`        // without the rules that it needs
	Total      float64 `json:"total"`      // with them
	Share      float64 `json:"share"`      // of its own time
	Evaluated  float64 `json:"evaluated"`  // times
	Considered float64 `json:"considered"` // times that the index of rules was asked, or more
	Decisions  uint64  `json:"decisions"`  // evaluated ones that reach it
	Median     float64 `json:"median"`     // of the time with the rules that it needs, of these
	P99        float64 `json:"p99"`
}

// LineTime is the time in a line.
type LineTime struct {
	Source
	Text      string  `json:"text"`
	Time      float64 `json:"time"`
	Share     float64 `json:"share"`
	Evaluated float64 `json:"evaluated"` // expressions
}

// BuiltinTime is the time in a built-in function.
type BuiltinTime struct {
	Name  string  `json:"name"`
	Time  float64 `json:"time"`
	Share float64 `json:"share"`
	Calls float64 `json:"calls"`
}

// walk calls do with each line of each way, by path.
func (t *tracer) walk(do func(path string, l *line)) {
	for _, path := range slices.Sorted(maps.Keys(t.paths)) {
		t.paths[path].walk(func(l *line) { do(path, l) })
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
func profileOf(all []*tracer) (*Profile, error) {
	policy := all[0].policy
	p := &Profile{tracers: all}
	rules, spans := make([]RuleTime, len(policy.rules)), make([]exphist.Snapshot, len(policy.rules))
	lines, builtins := map[Source]*LineTime{}, map[string]*BuiltinTime{}
	traced := 0.0
	for _, t := range all {
		p.Time += t.plain
		traced += t.traced
		for i := range t.rules {
			r := &t.rules[i]
			rules[i].Evaluated += r.count
			rules[i].Total += r.time
			if r.spans != nil {
				var s exphist.Snapshot
				r.spans.Snapshot(&s)
				if err := spans[i].Merge(&s); err != nil {
					return nil, err
				}
			}
		}
		for i, n := range t.considered() {
			rules[i].Considered += n
		}
		t.walk(func(_ string, l *line) {
			at := Source{Rule: queryName}
			if l.rule != queryRule {
				at = policy.rules[l.rule].source(l.row)
				rules[l.rule].Own += l.time
			}
			if lines[at] == nil {
				lines[at] = &LineTime{Source: at, Text: policy.text(at)}
			}
			lines[at].Time += l.time
			lines[at].Evaluated += l.count
		})
		for name, b := range t.builtins {
			if builtins[name] == nil {
				builtins[name] = &BuiltinTime{Name: name}
			}
			builtins[name].Time += b.time
			builtins[name].Calls += b.count
		}
	}
	if p.Time > 0 {
		p.Tracer = traced / p.Time
	}
	for i, r := range rules {
		if s := &spans[i]; s.Count() > 0 {
			r.Source, r.Share, r.Decisions, r.Median, r.P99 = policy.rules[i].source(0), r.Own/p.Time, s.Count(), s.Quantile(0.5), s.Quantile(0.99)
			p.Rules = append(p.Rules, r)
		}
	}
	for _, l := range lines {
		l.Share = l.Time / p.Time
		p.Lines = append(p.Lines, *l)
	}
	for _, b := range builtins {
		b.Share = b.Time / p.Time
		p.Builtins = append(p.Builtins, *b)
	}
	slices.SortFunc(p.Rules, func(a, b RuleTime) int { return cmp.Or(cmp.Compare(b.Own, a.Own), a.compare(b.Source)) })
	slices.SortFunc(p.Lines, func(a, b LineTime) int { return cmp.Or(cmp.Compare(b.Time, a.Time), a.compare(b.Source)) })
	slices.SortFunc(p.Builtins, func(a, b BuiltinTime) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name)) })
	p.Unreached = policy.unreached(spans, lines)
	return p, nil
}

// source returns the place of a line of the rule, or of the rule itself for 0.
func (r *rule) source(row int) Source { return Source{r.name, r.file, cmp.Or(row, r.row)} }

func (s Source) compare(o Source) int {
	return cmp.Or(cmp.Compare(s.File, o.File), cmp.Compare(s.Line, o.Line), cmp.Compare(s.Rule, o.Rule))
}

// queryName is the name of the query, which is no rule.
const queryName = "(query)"

// text returns the text of a line.
func (p *Policy) text(at Source) string {
	rows := p.sources[at.File]
	if at.Line < 1 || at.Line > len(rows) {
		return ""
	}
	return strings.TrimSpace(rows[at.Line-1])
}

// considered returns how often the index was asked for each rule.
func (t *tracer) considered() map[int]float64 {
	all := map[int]float64{}
	for _, s := range t.exprs {
		for _, l := range s.lookups {
			for _, r := range t.policy.compiler.GetRules(l.ref.GroundPrefix()) {
				for ; r != nil; r = r.Else {
					all[t.policy.numbers[r]] += l.n
				}
			}
		}
	}
	return all
}

// unreached returns the rules, and the lines of other rules, that no evaluation
// reached.
func (p *Policy) unreached(reached []exphist.Snapshot, lines map[Source]*LineTime) (rules []Source) {
	var rest []Source
	for i := range p.rules {
		r := &p.rules[i]
		if strings.HasSuffix(r.file, "_test.rego") {
			continue
		}
		if reached[i].Count() == 0 {
			rules = append(rules, r.source(0))
			continue
		}
		for _, row := range r.rows {
			if at := r.source(row); lines[at] == nil {
				rest = append(rest, at)
			}
		}
	}
	return append(rules, rest...)
}

// WritePprof writes a profile for go tool pprof. Its functions are rules, and its
// samples are lines on one way to them, with the path as a label.
func (p *Profile) WritePprof(w io.Writer) error {
	out := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "evaluations", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}},
		PeriodType:        &profile.ValueType{Type: "time", Unit: "nanoseconds"},
		Period:            1,
		DefaultSampleType: "time",
	}
	functions := map[int]*profile.Function{}
	locations := map[[2]int]*profile.Location{}
	locate := func(l *line) *profile.Location {
		f := functions[l.rule]
		if f == nil {
			f = &profile.Function{ID: uint64(len(functions) + 1), Name: queryName}
			if l.rule != queryRule {
				r := &p.tracers[0].policy.rules[l.rule]
				f.Name, f.Filename, f.StartLine = r.name, r.file, int64(r.row)
			}
			f.SystemName = f.Name
			functions[l.rule] = f
			out.Function = append(out.Function, f)
		}
		at := [2]int{l.rule, l.row}
		if locations[at] == nil {
			locations[at] = &profile.Location{ID: uint64(len(locations) + 1), Line: []profile.Line{{Function: f, Line: int64(l.row)}}}
			out.Location = append(out.Location, locations[at])
		}
		return locations[at]
	}
	for _, t := range p.tracers {
		t.walk(func(path string, l *line) {
			if l.time < 1 {
				return
			}
			s := &profile.Sample{Value: []int64{int64(math.Round(l.count)), int64(math.Round(l.time))}, Label: map[string][]string{"path": {path}}}
			for at := l; at != nil; at = at.from {
				s.Location = append(s.Location, locate(at))
			}
			out.Sample = append(out.Sample, s)
		})
	}
	return out.Write(w)
}
