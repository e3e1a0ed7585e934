// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package samplelog

import (
	"cmp"
	"slices"
	"time"

	"github.com/regometer/regometer/rollup"
)

// TruthSuffix is what the name of a log's truth ends with.
const TruthSuffix = ".truth.json"

// Truth is what is in a log, exactly. As JSON it has the shape of a report's
// JSON, without findings: all outcomes, but only counters that are not 0.
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

// Inputs is what a reader of the log meets.
type Inputs struct {
	Files      int       `json:"files"` // 1
	Bytes      int64     `json:"bytes"` // as written, compressed if so
	Decisions  int64     `json:"decisions"`
	OtherLines int64     `json:"other_lines"`
	Problems   []Problem `json:"problems"` // by kind
}

// Problem is a kind of what is wrong, as package decisionlog names it.
type Problem struct {
	Kind  string  `json:"kind"`
	Count int64   `json:"count"`
	First []Place `json:"first"` // at most five
}

// Place is a line of a file, from 1, where an event begins.
type Place struct {
	File string `json:"file"`
	Line int64  `json:"line"`
}

// Group is the decisions of a path.
type Group struct {
	Path      string           `json:"path"`
	Decisions int64            `json:"decisions"`
	Outcomes  map[string]int64 `json:"outcomes"`
	Counters  map[string]int64 `json:"counters"`
	Stages    map[string]Stage `json:"stages"`
}

// Stage is what a stage took in the decisions of a path, in ns. Unfinished
// timers, which are 0, count as nothing else.
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
}

// Quantiles are those of the durations, in ns, by nearest rank: the least
// duration that at least that share of them does not exceed. 0 if there is
// none.
type Quantiles struct {
	P50  int64 `json:"p50_ns"`
	P90  int64 `json:"p90_ns"`
	P95  int64 `json:"p95_ns"`
	P99  int64 `json:"p99_ns"`
	P999 int64 `json:"p999_ns"`
}

// ExactDecisions is up to how many decisions the truth has quantiles. Each
// duration takes up to 16 bytes until then.
const ExactDecisions = 5_000_000

// account counts what is written.
type account struct {
	decisions, others int64
	problems          map[string]*Problem
	first, last       time.Time // zero if there is none
	paths             []*pathAccount
}

type pathAccount struct {
	decisions int64
	outcomes  [rollup.Cancelled + 1]int64
	counters  [counters]int64
	stages    [stages]stageAccount
}

type stageAccount struct {
	count, unfinished, sum, self, min, max int64
	durations                              []int64
}

// add counts a decision that a reader finds.
func (a *account) add(d *decision) {
	a.decisions++
	p := a.paths[d.path]
	if p == nil {
		p = new(pathAccount)
		a.paths[d.path] = p
	}
	p.decisions++
	p.outcomes[d.outcome]++
	if d.flaw != noTime {
		if a.first.IsZero() {
			a.first = d.time
		}
		a.last = d.time // later than all before
	}

	n := d.readable()
	for c, value := range n.counters {
		p.counters[c] += max(value, 0)
	}
	self := n.self()
	for s, value := range n.timers {
		if value >= 0 {
			p.stages[s].add(value, self[s], a.decisions <= ExactDecisions)
		}
	}
	if a.decisions == ExactDecisions+1 {
		a.forget()
	}
}

// forget frees the durations, which have become too many.
func (a *account) forget() {
	for _, p := range a.paths {
		if p == nil {
			continue
		}
		for s := range p.stages {
			p.stages[s].durations = nil
		}
	}
}

func (s *stageAccount) add(value, self int64, keep bool) {
	if value == 0 {
		s.unfinished++
		return
	}
	if s.count == 0 {
		s.min = value
	}
	s.count++
	s.sum += value
	s.self += self
	s.min, s.max = min(s.min, value), max(s.max, value)
	if keep {
		s.durations = append(s.durations, value)
	}
}

// problem counts a problem of a kind. line is called only if it is wanted.
func (a *account) problem(kind, file string, line func() int64) {
	p := a.problems[kind]
	if p == nil {
		p = &Problem{Kind: kind}
		a.problems[kind] = p
	}
	p.Count++
	if len(p.First) < 5 {
		p.First = append(p.First, Place{file, line()})
	}
}

// truth returns what was counted. names are those of the paths.
func (a *account) truth(names func(path int) string, bytes int64) *Truth {
	t := &Truth{Version: 1, Groups: []Group{}, Inputs: Inputs{
		Files: 1, Bytes: bytes, Decisions: a.decisions, OtherLines: a.others, Problems: []Problem{},
	}}
	for _, kind := range sortedKeys(a.problems) {
		t.Inputs.Problems = append(t.Inputs.Problems, *a.problems[kind])
	}
	if !a.first.IsZero() {
		t.From, t.To = &a.first, &a.last
	}
	times := map[string]int64{}
	for i, p := range a.paths {
		if p != nil {
			g := p.group(names(i), a.decisions <= ExactDecisions)
			t.Groups = append(t.Groups, g)
			for _, s := range g.Stages {
				times[g.Path] += s.Self
			}
		}
	}
	slices.SortFunc(t.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(times[b.Path], times[a.Path]), cmp.Compare(a.Path, b.Path))
	})
	return t
}

func (p *pathAccount) group(path string, exact bool) Group {
	g := Group{Path: path, Decisions: p.decisions,
		Outcomes: map[string]int64{}, Counters: map[string]int64{}, Stages: map[string]Stage{}}
	for o, n := range p.outcomes {
		g.Outcomes[rollup.Outcome(o).String()] = n
	}
	for c, n := range p.counters {
		if n > 0 {
			g.Counters[counterNames[c]] = n
		}
	}
	for i, s := range p.stages {
		if s.count+s.unfinished == 0 {
			continue
		}
		stage := Stage{s.count, s.unfinished, s.sum, s.self, s.min, s.max, nil}
		if exact {
			stage.Quantiles = quantiles(s.durations)
		}
		g.Stages[stageNames[i]] = stage
	}
	return g
}

// quantiles sorts the durations.
func quantiles(durations []int64) *Quantiles {
	slices.Sort(durations)
	return &Quantiles{
		nearestRank(durations, 500), nearestRank(durations, 900), nearestRank(durations, 950),
		nearestRank(durations, 990), nearestRank(durations, 999),
	}
}

// nearestRank returns the quantile of so many thousandths.
func nearestRank(sorted []int64, thousandths int64) int64 {
	n := int64(len(sorted))
	if n == 0 {
		return 0
	}
	return sorted[(n*thousandths+999)/1000-1]
}
