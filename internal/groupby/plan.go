// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/stages"
)

// A plan says how decisions are folded in whose measures are these metrics, in
// this order: most decisions of a log have those of one of a few plans. It
// spares what Groups.addAny does to find out again: what metrics these are,
// and which stage is in which.
type plan struct {
	version      int // of Groups.names, whose numbers the steps have
	size, timers int // how many steps there are, and how many of them are stages
	steps        [planSize]step

	nested   [planSize]nesting // in the order of the inner stages
	nestings int
}

// step is a measure of a plan.
type step struct {
	metric    *stages.Metric
	number    int32
	least     int32 // the plan is for values from this up: 0 or 1
	isCounter bool
}

// nesting is a stage within another, by step.
type nesting struct{ inner, outer uint8 }

const (
	planSize = 16 // steps
	plans    = 64
)

// planAt returns where the plan of these measures is, if there is one: by how
// many they are, the first, the middle and the last. If others of the same
// place come in turn, none of them has a plan.
func (g *Groups) planAt(measures []decisionlog.Measure) *plan {
	n := uint(len(measures))
	if n == 0 {
		return &g.plans[0]
	}
	first, middle, last := measures[0].Metric, measures[n/2].Metric, measures[n-1].Metric
	return &g.plans[(n+uint(first)+5*uint(middle)+25*uint(last))%plans]
}

// fits reports whether p is the plan of these measures.
func (p *plan) fits(measures []decisionlog.Measure, version int) bool {
	if len(measures) != p.size || len(measures) > planSize || p.version != version {
		return false
	}
	for i := range measures {
		if s := &p.steps[i]; measures[i].Metric != s.number || measures[i].Value < int64(s.least) {
			return false
		}
	}
	return true
}

// addPlanned adds the measures that fit a plan to a cell. Its floor is to
// record the durations, which is four tenths of a whole Add
// (BenchmarkAdd/groups=1).
func (g *Groups) addPlanned(c *cell, p *plan, measures []decisionlog.Measure) {
	var covered [planSize]int64 // by step
	for _, n := range p.nested[:p.nestings] {
		inner, outer := measures[n.inner].Value, measures[n.outer].Value
		covered[n.outer] += min(inner, outer-covered[n.outer])
	}
	c.reserve(p.timers)
	stage, counter := 0, 0 // where the next one is if this decision is as others
	for i := range measures {
		s, value := &p.steps[i], measures[i].Value
		if s.isCounter {
			counter = c.counterAt(s.metric, counter)
			c.counters[counter].add(uint64(value))
			counter++
			continue
		}
		stage = c.stageAt(s.metric, stage)
		c.stages[stage].add(value, covered[i])
		stage++
	}
}

// set makes p the plan of a decision, of whose measures none was left alone; or
// leaves it as it is if they cannot have one.
func (p *plan) set(measures []decisionlog.Measure, f *stages.Folding, version int) {
	if len(measures) > planSize {
		return
	}
	next := plan{version: version, size: len(measures)}
	var at [stages.MaxContainers]int // as stages.Folding.at, but whatever the value
	for i := range measures {
		m := f.At(i).Metric
		if m.Overflows { // each time is counted
			return
		}
		if m.Slot >= 0 {
			if at[m.Slot] > 0 { // it is there twice
				return
			}
			at[m.Slot] = i + 1
		}
		next.steps[i] = step{metric: m, number: measures[i].Metric}
		if m.Kind == stages.Counter {
			next.steps[i].isCounter, next.steps[i].least = true, 1
		} else {
			next.timers++
		}
	}
	for i := range measures {
		outer := 0
		for _, slot := range f.At(i).Metric.Ancestors {
			if at[slot] == 0 {
				continue
			}
			if outer > 0 { // if that one were 0, this one would have the time
				next.steps[outer-1].least = 1
				break
			}
			outer = at[slot]
			next.nested[next.nestings] = nesting{uint8(i), uint8(outer - 1)}
			next.nestings++
		}
	}
	*p = next
}
