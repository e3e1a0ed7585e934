// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"cmp"
	"slices"
	"strings"

	"github.com/regometer/regometer/rollup"
)

// stage is the distribution of one timer over the decisions that have it.
type stage struct {
	Name       string `json:"name"`  // the timer's name, such as rego_query_eval
	Depth      int    `json:"depth"` // how many of the other stages it lies within
	Count      int    `json:"count"` // decisions that finished it
	Unfinished int    `json:"unfinished"`
	P50        int64  `json:"p50_ns"`
	P95        int64  `json:"p95_ns"`
	P99        int64  `json:"p99_ns"`
	Max        int64  `json:"max_ns"`

	// Scraped is the same by /metrics; nil if it was not asked.
	Scraped *scraped `json:"scraped,omitempty"`
}

// known is the table of stages that the plugin has, too.
var known = rollup.DefaultStages()

// entry returns where the stage stands in the table, as itself or in a family.
// One that is not there comes after all others.
func entry(name string) int {
	if at := slices.IndexFunc(known, func(s rollup.Stage) bool { return s.Name == name }); at >= 0 {
		return at
	}
	at := slices.IndexFunc(known, func(s rollup.Stage) bool {
		prefix, family := strings.CutSuffix(s.Name, "*")
		return family && strings.HasPrefix(name, prefix)
	})
	if at < 0 {
		return len(known)
	}
	return at
}

// stages holds the timers of decisions by name.
type stages map[string]*samples

type samples struct {
	values     []int64 // nanoseconds
	unfinished int
}

// of returns the samples of a stage, which may be new.
func (s stages) of(name string) *samples {
	if s[name] == nil {
		s[name] = &samples{}
	}
	return s[name]
}

// add takes up a decision's timer. One of 0 was logged before it was stopped:
// it is no sample.
func (s *samples) add(ns int64) {
	if ns == 0 {
		s.unfinished++
	} else {
		s.values = append(s.values, ns)
	}
}

// container returns the innermost of the stages that may contain this one, of
// those that some decision has, and how deep this one is therefore: of nothing,
// "" and 0.
func (s stages) container(name string) (around string, depth int) {
	at := entry(name)
	if at == len(known) {
		return "", 0
	}
	for _, parent := range strings.Fields(known[at].Parent) {
		found, d := s.container(parent)
		if s[parent] != nil {
			found, d = parent, d+1
		}
		if d > depth {
			around, depth = found, d
		}
	}
	return around, depth
}

// table returns the stages, each after the one that contains it, otherwise in
// the order of the known ones, and those of one family by name.
func (s stages) table() []stage {
	within := map[string][]string{}
	for name := range s {
		around, _ := s.container(name)
		within[around] = append(within[around], name)
	}
	table := make([]stage, 0, len(s))
	var add func(names []string, depth int)
	add = func(names []string, depth int) {
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(entry(a), entry(b)), cmp.Compare(a, b))
		})
		for _, name := range names {
			samples := s[name]
			slices.Sort(samples.values)
			table = append(table, stage{
				Name: name, Depth: depth,
				Count: len(samples.values), Unfinished: samples.unfinished,
				P50: nearestRank(samples.values, 50),
				P95: nearestRank(samples.values, 95),
				P99: nearestRank(samples.values, 99),
				Max: nearestRank(samples.values, 100),
			})
			add(within[name], depth+1)
		}
	}
	add(within[""], 0)
	return table
}

// nearestRank returns the percentile of sorted values: the one at rank
// ⌈percent/100·n⌉, counted from 1. Of no values it is 0.
func nearestRank(sorted []int64, percent int) int64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := (percent*len(sorted) + 99) / 100
	return sorted[max(rank, 1)-1]
}
