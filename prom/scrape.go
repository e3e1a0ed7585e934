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
	b, f := &builder{}, c.families
	for i := range s.Paths {
		p := &s.Paths[i]
		for o, n := range p.Outcomes {
			b.counter(&f.decisions, float64(n), rollup.Outcome(o).String(), p.Label)
		}
		for j := range p.Stages {
			b.stage(&f.pathDuration, &f.pathSelf, &p.Stages[j], p.Label, p.Stages[j].Stage)
		}
	}
	negative := uint64(0)
	for i := range s.Stages {
		stage := &s.Stages[i]
		b.stage(&f.duration, &f.self, stage, stage.Stage)
		negative += stage.Histogram.Negatives()
		for cause, n := range stage.Unfinished {
			if n > 0 {
				b.counter(&f.unfinished, float64(n), rollup.Cause(cause).String(), stage.Stage)
			}
		}
	}
	for _, t := range s.Counters {
		b.counter(&f.counters, float64(t.Total), t.Counter)
	}
	for _, t := range s.Errors {
		b.counter(&f.errors, float64(t.Total), t.Code)
	}
	for _, o := range overflows {
		b.counter(&f.overflow, float64(o.count(&s.Overflow)), o.kind)
	}
	b.counter(&f.invalid, float64(negative), "negative")
	b.counter(&f.invalid, float64(s.Overflow.Invalid), "malformed")
	b.gauge(&f.series, float64(b.series+1+c.moreSeries())) // and this one
	return b.metrics
}

// stage adds a stage's histogram and self time.
func (b *builder) stage(duration, self *family, t *rollup.StageTotal, labels ...string) {
	if t.Histogram.Count() == 0 {
		return // by an empty series, the OTLP bridge would judge the family to have no exponential buckets
	}
	b.histogram(duration, &t.Histogram, labels...)
	b.counter(self, float64(t.Self)/1e9, labels...)
}

// overflows are the values of the label kind, and what they count.
var overflows = [...]struct {
	kind  string
	count func(*rollup.Overflow) uint64
}{
	{"path", func(o *rollup.Overflow) uint64 { return o.Paths }},
	{"stage", func(o *rollup.Overflow) uint64 { return o.Stages }},
	{"counter", func(o *rollup.Overflow) uint64 { return o.Counters }},
}

// invalidReasons is how many values the label reason has.
const invalidReasons = 2
