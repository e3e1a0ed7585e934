// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"

	"github.com/regometer/regometer/decisionlog"
)

// slowest are the slowest decisions, sorted. Which they are does not depend on
// the order in which they come.
type slowest struct {
	limit int
	kept  []SlowDecision
}

// merge adds what others are.
func (s *slowest) merge(o *slowest) {
	s.kept = append(s.kept, o.kept...)
	s.cut()
}

// cut leaves the slowest, sorted.
func (s *slowest) cut() {
	slices.SortFunc(s.kept, func(a, b SlowDecision) int {
		return cmp.Or(compareSlow(&a, &b), comparePlaces(a.Place, b.Place), compareRest(&a, &b))
	})
	s.kept = s.kept[:min(len(s.kept), s.limit)]
}

// compareSlow compares decisions by all that tells them apart, but for where
// they are; first the slowest.
func compareSlow(a, b *SlowDecision) int {
	return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Time, b.Time), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Key, b.Key))
}

// compareRest compares decisions that are in one line.
func compareRest(a, b *SlowDecision) int {
	return cmp.Or(cmp.Compare(a.Outcome, b.Outcome), slices.CompareFunc(a.Stages, b.Stages, func(a, b StageTime) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Stage, b.Stage))
	}))
}

// slowestRead keeps the slowest decisions while they are read, when it is not
// known yet in what line of its file a part begins.
type slowestRead struct {
	limit int
	kept  []slowRead // at most twice as many
	least int64      // what a decision must take that may be among them
}

type slowRead struct {
	SlowDecision
	part *part
	line int64 // of the part
}

// add adds an event. What a decision took is its longest timer, which contains
// the others. stages are the names of the timers, by number.
func (s *slowestRead) add(key []byte, e *decisionlog.Event, p *part, stages []string) {
	below := max(s.least, 1) - 1
	took := below // most events have no value above that, and cost a comparison for each
	for _, m := range e.Measures {
		if m.Value > took && stages[m.Metric] != "" {
			took = m.Value
		}
	}
	if took == below {
		return
	}
	s.kept = append(s.kept, slowRead{
		SlowDecision{
			Key: string(key), ID: string(e.DecisionID), Time: e.Time, Outcome: e.Outcome,
			Took: took, Stages: timersOf(e.Measures, stages),
		},
		p, e.Line,
	})
	if len(s.kept) >= 2*s.limit {
		s.cut()
	}
}

// cut leaves the slowest, sorted.
func (s *slowestRead) cut() {
	slices.SortFunc(s.kept, func(a, b slowRead) int {
		return cmp.Or(compareSlow(&a.SlowDecision, &b.SlowDecision), cmp.Compare(a.part.input.name, b.part.input.name),
			cmp.Compare(a.part.number, b.part.number), cmp.Compare(a.line, b.line), compareRest(&a.SlowDecision, &b.SlowDecision))
	})
	if len(s.kept) >= max(s.limit, 1) {
		s.kept = s.kept[:s.limit]
		s.least = s.kept[s.limit-1].Took
	}
}

// placed returns the slowest, with the lines of their files.
func (s *slowestRead) placed() slowest {
	s.cut()
	placed := slowest{limit: s.limit}
	for _, d := range s.kept {
		d.Place = Place{d.part.input.name, d.part.firstLine() + d.line}
		placed.kept = append(placed.kept, d.SlowDecision)
	}
	return placed
}

// slowStages limits how many stages of a slow decision are kept. It is far more
// than OPA has.
const slowStages = 256

// timersOf returns the slowest timers among measures, slowest first, and by
// name.
func timersOf(measures []decisionlog.Measure, stages []string) []StageTime {
	var times []StageTime
	for _, m := range measures {
		if name := stages[m.Metric]; name != "" && m.Value > 0 {
			times = append(times, StageTime{name, m.Value})
		}
	}
	slices.SortFunc(times, func(a, b StageTime) int { return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Stage, b.Stage)) })
	if len(times) > slowStages {
		times = slices.Clone(times[:slowStages])
	}
	return times
}
