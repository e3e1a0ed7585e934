// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/rollup"
)

// Options configures a Collector. The zero value is the default.
type Options struct {
	// Namespace begins the name of every metric: letters, digits and
	// underscores, no digit first. "" is "opa".
	Namespace string
	// MoreSeries returns the number of other series that
	// <namespace>_decision_metric_series must include. nil means 0.
	MoreSeries func() int
}

// A Collector is a prometheus.Collector that exports a Rollup. All methods may
// be called from any goroutine.
type Collector struct {
	rollup     *rollup.Rollup
	families   *families
	moreSeries func() int

	// spare is the snapshot of an earlier scrape. The next one uses its memory
	// again. A Collect removes it while it reads it, so that two at once never
	// share it. (A sync.Pool would be emptied between scrapes.)
	spare atomic.Pointer[rollup.Snapshot]
}

var _ prometheus.Collector = (*Collector)(nil)

var namespace = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// NewCollector returns a Collector over r, which is not yet registered. The
// error names the wrong option.
//
// Several collectors over one Rollup export the same numbers. A registry has
// room for one of them for each namespace. To change options, unregister the
// old one and register a new one over the same Rollup.
func NewCollector(r *rollup.Rollup, o Options) (*Collector, error) {
	if r == nil {
		return nil, errors.New("prom: no rollup to collect from")
	}
	o.Namespace = cmp.Or(o.Namespace, "opa")
	if !namespace.MatchString(o.Namespace) {
		return nil, fmt.Errorf("prom: Namespace %q: use letters, digits and underscores, and no digit first", o.Namespace)
	}
	if o.MoreSeries == nil {
		o.MoreSeries = func() int { return 0 }
	}
	return &Collector{rollup: r, families: newFamilies(o.Namespace), moreSeries: o.MoreSeries}, nil
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range c.families.descs {
		ch <- desc
	}
}

// Collect implements prometheus.Collector. Recording into the Rollup never
// waits for it, even while nobody reads from ch.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := c.spare.Swap(nil)
	if s == nil {
		s = new(rollup.Snapshot)
	}
	c.rollup.Snapshot(s)
	metrics := c.scrape(s)
	c.spare.Store(s) // the metrics, which are written after Collect has returned, do not refer to s

	for _, m := range metrics {
		ch <- m
	}
}
