// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/rollup"
)

// outcomes is how many outcomes a decision can have.
const outcomes = len(rollup.Path{}.Outcomes)

// scrape returns the metrics that s amounts to. They do not refer to s.
func (c *Collector) scrape(s *rollup.Snapshot) []prometheus.Metric {
	b, f := &builder{classic: c.classic}, c.families
	unfinished := map[string]uint64{}
	negative := uint64(0)
	for i := range s.Paths {
		p := &s.Paths[i]
		for o, n := range p.Outcomes {
			b.counter(&f.decisions, float64(n), rollup.Outcome(o).String(), p.Label)
		}
		for j := range p.Stages {
			stage := &p.Stages[j]
			unfinished[stage.Stage] += stage.Unfinished
			negative += stage.Histogram.Negatives()
			if stage.Histogram.Count() == 0 {
				continue // by an empty series, the OTLP bridge would judge the family to have no exponential buckets
			}
			b.histogram(&f.duration, &stage.Histogram, p.Label, stage.Stage)
			b.counter(&f.self, float64(stage.Self)/1e9, p.Label, stage.Stage)
		}
		for j := range p.Events {
			b.counter(&f.events, float64(p.Events[j].Total), p.Events[j].Event, p.Label)
		}
	}
	for stage, n := range unfinished {
		b.counter(&f.unfinished, float64(n), stage)
	}
	for _, o := range overflows {
		b.counter(&f.overflow, float64(o.count(&s.Overflow)), o.kind)
	}
	b.counter(&f.invalid, float64(negative), "negative")
	b.counter(&f.invalid, float64(s.Overflow.Invalid), "malformed")
	b.gauge(&f.series, float64(b.series+1)) // and this one
	return b.metrics
}

// overflows are the values of the label kind, and what they count.
var overflows = [...]struct {
	kind  string
	count func(*rollup.Overflow) uint64
}{
	{"path", func(o *rollup.Overflow) uint64 { return o.Paths }},
	{"stage", func(o *rollup.Overflow) uint64 { return o.Stages }},
	{"event", func(o *rollup.Overflow) uint64 { return o.Counters }},
	{"stage_of_path", func(o *rollup.Overflow) uint64 { return o.Histograms }},
	{"event_of_path", func(o *rollup.Overflow) uint64 { return o.Events }},
}

// invalidReasons is how many values the label reason has.
const invalidReasons = 2
