// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/rollup"
)

// Options configures a Collector. The zero value is the default.
type Options struct {
	// Namespace begins the name of every metric: letters, digits and
	// underscores, no digit first. "" is "opa".
	Namespace string
	// MoreSeries returns how many series are exported beside the Collector's,
	// to be counted in <namespace>_decision_metric_series. nil: none.
	MoreSeries func() int
}

// A Collector is a prometheus.Collector that exports what a Rollup holds. All
// methods may be called from any goroutine.
type Collector struct {
	rollup     *rollup.Rollup
	families   *families
	moreSeries func() int

	// spare is a snapshot of an earlier scrape, whose memory the next one uses
	// again. A Collect takes it away while it reads it, so that two at once
	// never share one. (A sync.Pool is emptied between scrapes.)
	spare atomic.Pointer[rollup.Snapshot]
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns a Collector over r, not yet registered. The error names
// the option that is wrong.
//
// Several collectors over one Rollup export the same numbers: a registry has
// room for one of them at a time for each namespace. To change options,
// unregister the old one and register a new one over the same Rollup.
func NewCollector(r *rollup.Rollup, o Options) (*Collector, error) {
	if r == nil {
		return nil, errors.New("prom: no rollup to collect from")
	}
	if o.Namespace == "" {
		o.Namespace = "opa"
	}
	if !validNamespace(o.Namespace) {
		return nil, fmt.Errorf("prom: Namespace %q: use letters, digits and underscores, and no digit first", o.Namespace)
	}
	if o.MoreSeries == nil {
		o.MoreSeries = func() int { return 0 }
	}
	return &Collector{rollup: r, families: newFamilies(o.Namespace), moreSeries: o.MoreSeries}, nil
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range c.families.all() {
		ch <- f.desc
	}
}

// Collect implements prometheus.Collector. Recording into the Rollup never
// waits for it, even while ch accepts nothing.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := c.spare.Swap(nil)
	if s == nil {
		s = new(rollup.Snapshot)
	}
	c.rollup.Snapshot(s)
	metrics := c.scrape(s)
	c.spare.Store(s) // the metrics are written after Collect has returned: none of them refers to s

	for _, m := range metrics {
		ch <- m
	}
}

func validNamespace(s string) bool {
	for i, r := range s {
		switch {
		case r == '_', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
		case '0' <= r && r <= '9' && i > 0:
		default:
			return false
		}
	}
	return true
}
