// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regometer/regometer/exphist"
)

// Profile says which rules take the time. Times are in ns, of all decisions of
// the log. Of a sample, they are estimates.
type Profile struct {
	Time     float64 `json:"time"`     // of all evaluations
	Tracer   float64 `json:"tracer"`   // how many times as long a traced evaluation takes, in the median
	Rules    []*Time `json:"rules"`    // definitions that were evaluated, by their own time
	Lines    []*Time `json:"lines"`    // by time
	Builtins []*Time `json:"builtins"` // functions, by time
	// Unreached are the rules that no evaluation reached, and then the lines of
	// other rules. Those of tests are left out, and those that OPA itself asks.
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
	*RuleTime
}

// RuleTime is what only a definition of a rule has.
type RuleTime struct {
	Total      float64 `json:"total"`      // with the rules that it needs
	Considered float64 `json:"considered"` // times that the index of rules was asked, or more
	Decisions  uint64  `json:"decisions"`  // evaluated ones that reach it
	Quantiles          // of the time with the rules that it needs, of these
	spans      exphist.Snapshot
}

// Quantiles are those of durations, in ns, or 0 without durations.
type Quantiles struct {
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
}

func quantilesOf(s *exphist.Snapshot) (q Quantiles) {
	if s.Count() > 0 {
		q = Quantiles{s.Quantile(0.5), s.Quantile(0.99)}
	}
	return q
}

// walk calls do with each line of each way, and the path of its query.
func (p *Profile) walk(do func(path string, l *line)) {
	for _, t := range p.tracers {
		for _, path := range slices.Sorted(maps.Keys(t.queries)) {
			t.queries[path].walk(func(l *line) { do(path, l) })
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
	policy, p, costs := all[0].policy, &Profile{tracers: all}, exphist.Snapshot{}
	rules, lines, builtins := map[*ast.Rule]*Time{}, map[Source]*Time{}, map[Source]*Time{}
	of := func(r *ast.Rule) *Time {
		if rules[r] == nil {
			rules[r] = &Time{Source: sourceOf(r), RuleTime: new(RuleTime)}
		}
		return rules[r]
	}
	for _, t := range all {
		p.Time += t.time
		merge(&costs, t.costs)
		for r, m := range t.rules {
			of(r).Evaluated += m.evaluated
			merge(&of(r).spans, m.spans)
		}
		delete(t.lookups, nil) // of rules that the policy lacks
		for node, n := range t.lookups {
			for _, r := range node.Values {
				for ; r != nil; r = r.Else {
					of(r).Considered += n
				}
			}
		}
	}
	p.walk(func(_ string, l *line) {
		at := sourceOf(l.rule)
		if l.rule != nil {
			at.Line = l.row
			of(l.rule).Time += l.time
		}
		for f := l.frame; f.rule != nil; f = f.from.frame {
			of(f.rule).Total += l.time
		}
		add(lines, at, l.time, l.count).Text = policy.text(at)
		if l.builtin != "" {
			add(builtins, Source{Name: l.builtin}, l.time, l.count)
		}
	})
	p.Tracer = quantilesOf(&costs).Median / costUnit
	maps.DeleteFunc(rules, func(_ *ast.Rule, r *Time) bool {
		r.Decisions, r.Quantiles = r.spans.Count(), quantilesOf(&r.spans)
		return r.Decisions == 0
	})
	sorted := func(all iter.Seq[*Time]) []*Time { return slices.SortedFunc(all, compareTimes) }
	p.Rules, p.Lines, p.Builtins = sorted(maps.Values(rules)), sorted(maps.Values(lines)), sorted(maps.Values(builtins))
	if p.Time > 0 { // else nothing was evaluated
		p.Unreached = policy.unreached(rules, lines)
	}
	return p
}

// text returns a line of the policy, or "" for the query.
func (p *Policy) text(at Source) string {
	if rows := p.sources[at.File]; 0 < at.Line && at.Line <= len(rows) {
		return strings.TrimSpace(rows[at.Line-1])
	}
	return ""
}

// merge adds the values of a histogram of the same layout.
func merge(to *exphist.Snapshot, h *exphist.Histogram) {
	var s exphist.Snapshot
	h.Snapshot(&s)
	_ = to.Merge(&s)
}

// add adds time and evaluations to those of a place, and returns these.
func add(to map[Source]*Time, at Source, time, evaluated float64) *Time {
	if to[at] == nil {
		to[at] = &Time{Source: at}
	}
	to[at].Time += time
	to[at].Evaluated += evaluated
	return to[at]
}

// compareTimes sorts the greatest times to the front.
func compareTimes(a, b *Time) int {
	return cmp.Or(cmp.Compare(b.Time, a.Time), compareSources(a.Source, b.Source))
}

func compareSources(a, b Source) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
}

// queryName is the name of the query, which is no rule.
const queryName = "(query)"

// sourceOf returns the place of a rule, or the name of the query for nil.
func sourceOf(r *ast.Rule) Source {
	if r == nil {
		return Source{Name: queryName}
	}
	return Source{r.Ref().GroundPrefix().String(), r.Location.File, r.Location.Row}
}

// unreached returns the rules, and the lines of other rules, that no evaluation
// reached.
func (p *Policy) unreached(reached map[*ast.Rule]*Time, lines map[Source]*Time) (rules []Source) {
	var rest []Source
	for _, m := range p.compiler.Modules {
		ast.WalkRules(m, func(r *ast.Rule) bool {
			at := sourceOf(r)
			if strings.HasSuffix(at.File, "_test.rego") || strings.HasPrefix(at.Name, "data.system.") {
				return true
			} else if reached[r] == nil {
				rules = append(rules, at)
				return false
			}
			ast.WalkExprs(r.Body, func(e *ast.Expr) bool {
				if at.Line = cmp.Or(e.Location, r.Location).Row; lines[at] == nil {
					rest = append(rest, at)
				}
				return false
			})
			return false
		})
	}
	slices.SortFunc(rules, compareSources)
	slices.SortFunc(rest, compareSources)
	return append(rules, slices.Compact(rest)...)
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
	locations := map[*line]*profile.Location{}
	locate := func(l *line) *profile.Location {
		if locations[l] == nil {
			s, id := sourceOf(l.rule), uint64(len(locations)+1)
			f := &profile.Function{ID: id, Name: s.Name, SystemName: s.Name, Filename: s.File, StartLine: int64(s.Line)}
			locations[l] = &profile.Location{ID: id, Line: []profile.Line{{Function: f, Line: int64(l.row)}}}
		}
		return locations[l]
	}
	p.walk(func(path string, l *line) {
		if l.time < 1 {
			return
		}
		s := &profile.Sample{Value: []int64{int64(math.Round(l.count)), int64(math.Round(l.time))}, Label: map[string][]string{"path": {path}}}
		for at := l; at != nil; at = at.from {
			s.Location = append(s.Location, locate(at))
		}
		out.Sample = append(out.Sample, s)
	})
	return out.Compact() // which joins equal functions and locations
}
