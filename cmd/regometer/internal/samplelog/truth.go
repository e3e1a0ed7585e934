// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// TruthSuffix ends the name of the file with a log's truth.
const TruthSuffix = ".truth.json"

// Truth is the exact content of a log. Its JSON has the form of a report's JSON
// without findings and gaps. It has all outcomes, and the counters that are not 0.
type Truth struct {
	Version int    `json:"version"` // 1
	Inputs  Inputs `json:"inputs"`
	// From and To are the first and the last time of a decision, or nil.
	From *time.Time `json:"from"`
	To   *time.Time `json:"to"`
	// Groups are the paths that have decisions, sorted by total time,
	// descending, and by path. The total time is the sum of the self times.
	Groups []Group `json:"groups"`
}

// Inputs counts what a reader of the log finds.
type Inputs struct {
	Files      int       `json:"files"` // 1
	Bytes      int64     `json:"bytes"` // as written, after any compression
	Decisions  int64     `json:"decisions"`
	OtherLines int64     `json:"other_lines"`
	Problems   []Problem `json:"problems"` // by kind
}

// Problem is a kind of problem, by the name that package logread gives it.
type Problem struct {
	Kind  string  `json:"kind"`
	Count int64   `json:"count"`
	First []Place `json:"first"` // at most five
}

// Place is the line, from 1, where an event begins.
type Place struct {
	File string `json:"file"`
	Line int64  `json:"line"`
}

// Group has the decisions of a path.
type Group struct {
	Path      string            `json:"path"`
	Decisions int64             `json:"decisions"`
	Outcomes  map[string]int64  `json:"outcomes"`
	Counters  map[string]int64  `json:"counters"`
	Stages    map[string]*Stage `json:"stages"`
}

// Stage sums up the durations of a stage in the decisions of a path, in ns. An
// unfinished timer, which is 0, counts only as unfinished.
type Stage struct {
	Count      int64 `json:"count"`
	Unfinished int64 `json:"unfinished"`
	Sum        int64 `json:"sum_ns"`
	Self       int64 `json:"self_ns"`
	Min        int64 `json:"min_ns"`
	Max        int64 `json:"max_ns"`
	// Quantiles is nil, and absent in JSON, if the log has more than
	// ExactDecisions decisions.
	*Quantiles

	durations []int64
}

// Quantiles are quantiles of durations, in ns, by nearest rank. The p90, for
// example, is the least duration that 90 % of all durations do not exceed. They
// are 0 if there are no durations.
type Quantiles struct {
	P50  int64 `json:"p50_ns"`
	P90  int64 `json:"p90_ns"`
	P95  int64 `json:"p95_ns"`
	P99  int64 `json:"p99_ns"`
	P999 int64 `json:"p999_ns"`
}

// ExactDecisions limits the decisions of a truth with quantiles. Up to this
// limit each duration takes up to 16 bytes.
const ExactDecisions = 5_000_000

// account counts what a writer writes.
type account struct {
	Truth
	groups   map[string]*Group   // by path
	problems map[string]*Problem // by kind
}

func newAccount() *account {
	return &account{
		Truth:  Truth{Version: 1, Groups: []Group{}, Inputs: Inputs{Files: 1, Problems: []Problem{}}},
		groups: map[string]*Group{}, problems: map[string]*Problem{},
	}
}

// parents names the stage that contains a stage, or "".
var parents = map[string]string{
	"eval_op_plug": "rego_query_eval", "eval_op_rule_index": "rego_query_eval", "rego_builtin_http_send": "rego_query_eval",
	"rego_external_resolve": "rego_query_eval", "rego_input_parse": "server_handler", "rego_query_compile": "server_handler",
	"rego_query_eval": "server_handler", "rego_query_parse": "server_handler", "server_handler": "",
}

var stages = slices.Sorted(maps.Keys(parents))

// add counts a decision that a reader finds.
func (a *account) add(d *decision) {
	a.Inputs.Decisions++
	g := a.groups[d.path]
	if g == nil {
		g = &Group{Path: d.path, Outcomes: map[string]int64{}, Counters: map[string]int64{}, Stages: map[string]*Stage{}}
		for o := outcome.Outcome(0); o <= outcome.Cancelled; o++ {
			g.Outcomes[o.String()] = 0
		}
		a.groups[d.path] = g
	}
	g.Decisions++
	g.Outcomes[d.outcome.String()]++
	if at := d.time; d.flaw != logread.BadTime {
		if a.From == nil {
			a.From = &at
		}
		a.To = &at // later than all before
	}

	switch d.flaw { // a reader does not find these metrics
	case logread.NoMetrics:
		clear(d.timers)
		clear(d.counters)
	case logread.BadMetric, logread.NegativeMetric:
		delete(d.timers, d.flawIn)
	}
	for name, value := range d.counters {
		if value > 0 {
			g.Counters[name] += value
		}
	}
	for name, value := range d.timers {
		s := valueOf(g.Stages, name)
		if value == 0 {
			s.Unfinished++
			continue
		}
		if s.Count == 0 || value < s.Min {
			s.Min = value
		}
		s.Count++
		s.Sum += value
		s.Max = max(s.Max, value)
		if a.Inputs.Decisions <= ExactDecisions {
			s.durations = append(s.durations, value)
		}
		// A stage whose timer is unfinished does not contain other stages.
		s.Self += value
		outer := parents[name]
		for outer != "" && d.timers[outer] <= 0 {
			outer = parents[outer]
		}
		if outer != "" {
			valueOf(g.Stages, outer).Self -= value
		}
	}
}

// valueOf returns the value of a key. It adds a zero value if there is none.
func valueOf[V any](m map[string]*V, key string) *V {
	if m[key] == nil {
		m[key] = new(V)
	}
	return m[key]
}

// finish returns the truth about a log of this size.
func (a *account) finish(bytes int64) *Truth {
	t := &a.Truth
	t.Inputs.Bytes = bytes
	for _, kind := range slices.Sorted(maps.Keys(a.problems)) {
		p := a.problems[kind]
		p.Kind = kind
		t.Inputs.Problems = append(t.Inputs.Problems, *p)
	}
	times := map[string]int64{}
	for path, g := range a.groups {
		for _, s := range g.Stages {
			times[path] += s.Self
			if t.Inputs.Decisions <= ExactDecisions {
				s.Quantiles = quantiles(s.durations)
			}
			s.durations = nil
		}
		t.Groups = append(t.Groups, *g)
	}
	slices.SortFunc(t.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(times[b.Path], times[a.Path]), cmp.Compare(a.Path, b.Path))
	})
	return t
}

// quantiles sorts the durations and returns their quantiles.
func quantiles(durations []int64) *Quantiles {
	slices.Sort(durations)
	rank := func(thousandths int64) int64 {
		if len(durations) == 0 {
			return 0
		}
		return durations[(int64(len(durations))*thousandths+999)/1000-1]
	}
	return &Quantiles{rank(500), rank(900), rank(950), rank(990), rank(999)}
}
