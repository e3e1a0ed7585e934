// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/rollup"
)

// Collect implements prometheus.Collector. Recording into the Rollup waits for it
// only while it copies the Rollup, even if nobody reads from ch.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := c.spare.Swap(nil)
	if s == nil {
		s = new(rollup.Snapshot)
	}
	c.rollup.Snapshot(s)
	metrics := c.scrape(s)
	c.spare.Store(s) // no metric refers to s

	for _, m := range metrics {
		ch <- m
	}
}

// scrape returns the metrics of s, which do not refer to s.
func (c *Collector) scrape(s *rollup.Snapshot) []prometheus.Metric {
	b, f := &builder{}, c.families
	for i := range s.Paths {
		p := &s.Paths[i]
		for o, n := range p.Outcomes() {
			b.counter(&f.decisions, float64(n), o.String(), p.Label)
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
		for cause, n := range stage.Unfinished() {
			b.counter(&f.unfinished, float64(n), cause, stage.Stage)
		}
	}
	for _, t := range s.Counters {
		b.counter(&f.counters, float64(t.Total), t.Name)
	}
	for _, t := range s.Errors {
		b.counter(&f.errors, float64(t.Total), t.Name)
	}
	b.counter(&f.overflow, float64(s.Overflow.Paths), "path")
	b.counter(&f.overflow, float64(s.Overflow.Stages), "stage")
	b.counter(&f.overflow, float64(s.Overflow.Counters), "counter")
	if !c.checked {
		b.counter(&f.invalid, float64(negative), "negative")
		b.counter(&f.invalid, float64(s.Overflow.Invalid), "malformed")
	}
	more, others := c.more()
	series := float64(b.series + len(more) + others + 1) // including this one
	return append(append(b.metrics, more...), prometheus.MustNewConstMetric(f.series.desc, prometheus.GaugeValue, series))
}

// stage adds a stage's histogram and self time, unless the stage has no
// durations.
func (b *builder) stage(duration, self *family, t *rollup.StageTotal, labels ...string) {
	if t.Histogram.Count() == 0 {
		return // an empty series would make the OTLP bridge assume that the family has no exponential buckets
	}
	b.histogram(duration, &t.Histogram, labels...)
	b.counter(self, float64(t.Self)/1e9, labels...)
}
