// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/stages"
)

// A plan says how to add measures to a cell. It has their metrics, and says
// which stages may contain which. Most decisions of a log have the metrics of a
// previous one, in the same order, and so use its plan again.
type plan struct {
	version int    // the version of Groups.names for which the plan is valid
	steps   []step // one for each measure
	stages  int    // the number of steps that are stages

	// nested has pairs of stages where one may contain the other. The pairs of
	// an inner stage follow one another, with the nearest outer stage first.
	nested []nesting
}

// step is a measure of a plan.
type step struct {
	metric *stages.Metric
	number int32
	least  int32 // the smallest value that counts, 0 for a stage and 1 for a counter

	covered int64 // while a decision is added, the time of contained stages
}

// nesting is a stage within another. It has their steps.
type nesting struct{ inner, outer int32 }

const (
	plans    = 64
	maxSteps = 64 // limits the steps of a plan that later decisions use
	noPlan   = -1 // the version of a plan that only one decision uses
)

// planAt returns the place where the plan of these measures is or belongs.
// Different plans with the same place replace each other.
func (g *Groups) planAt(measures []decisionlog.Measure) *plan {
	n := uint(len(measures))
	if n == 0 {
		return &g.plans[0]
	}
	first, middle, last := measures[0].Metric, measures[n/2].Metric, measures[n-1].Metric
	return &g.plans[(n+uint(first)+5*uint(middle)+25*uint(last))%plans]
}

// fits reports whether p is a valid plan of these measures.
func (p *plan) fits(measures []decisionlog.Measure, version int) bool {
	if len(measures) != len(p.steps) || p.version != version {
		return false
	}
	for i := range p.steps {
		if s := &p.steps[i]; measures[i].Metric != s.number || measures[i].Value < int64(s.least) {
			return false
		}
	}
	return true
}

// makePlan makes p the plan of the measures that count, and returns these
// measures.
func (g *Groups) makePlan(p *plan, measures []decisionlog.Measure) []decisionlog.Measure {
	counting := g.measures[:0]
	if len(p.steps) > maxSteps {
		*p = plan{} // frees its memory
	}
	p.steps, p.nested, p.stages = p.steps[:0], p.nested[:0], 0
	var at [stages.MaxContainers]int32 // by slot: the last step of the stage, plus 1
	for _, x := range measures {
		if uint(x.Metric) >= uint(len(g.names.metrics)) {
			continue
		}
		s := step{metric: g.names.metrics[x.Metric], number: x.Metric}
		if s.metric.Kind == stages.Counter {
			s.least = 1
		}
		if x.Value < int64(s.least) {
			continue
		}
		if s.metric.Column <= stages.OtherColumn {
			s.metric = g.resolve(x.Metric, x.Value)
		}
		counting, p.steps = append(counting, x), append(p.steps, s)
		if slot := s.metric.Slot; slot >= 0 {
			at[slot] = int32(len(p.steps))
		}
	}
	g.measures = counting
	p.version = g.names.version
	if len(p.steps) < len(measures) || len(p.steps) > maxSteps {
		p.version = noPlan
	}
	for i := range p.steps {
		m := p.steps[i].metric
		for _, slot := range m.Ancestors {
			if at[slot] > 0 {
				p.nested = append(p.nested, nesting{int32(i), at[slot] - 1})
			}
		}
		if m.Kind == stages.Timer {
			p.stages++
		}
		if m.Overflows { // resolve must count each value
			p.version = noPlan
		}
		if m.Column == stages.OtherColumn {
			p.steps[i].metric = g.names.isOther[m.Kind]
		}
	}
	return counting
}

// addTo adds the measures of a plan to a cell. Recording the durations takes at
// least 40 % of Add's time (BenchmarkAdd/groups=1).
func (p *plan) addTo(c *cell, measures []decisionlog.Measure) {
	steps := p.steps
	measures = measures[:len(steps)]
	done := int32(-1) // the last inner stage whose time was added to an outer one
	for _, n := range p.nested {
		if value := measures[n.outer].Value; value > 0 && n.inner != done {
			outer := &steps[n.outer]
			outer.covered += min(measures[n.inner].Value, value-outer.covered)
			done = n.inner
		}
	}
	c.reserve(p.stages)
	stage, counter := 0, 0 // the next place, if the cell has the metrics in this order
	for i := range steps {
		s, value := &steps[i], measures[i].Value
		if s.least > 0 {
			counter = c.counterAt(s.metric, counter)
			c.counters[counter].add(uint64(value))
			counter++
			continue
		}
		stage = c.stageAt(s.metric, stage)
		c.stages[stage].add(value, s.covered)
		s.covered = 0
		stage++
	}
}
