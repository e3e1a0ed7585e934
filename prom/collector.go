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
	// Namespace begins the name of every metric. It has letters, digits and
	// underscores, and does not begin with a digit. "" means "opa".
	Namespace string
	// More returns other metrics of one series each, which Collect exports too,
	// and the number of series that others export.
	// <namespace>_decision_metric_series counts both. The caller describes these
	// metrics. nil means none. Any goroutine may call it.
	More func() (metrics []prometheus.Metric, others int)
	// Checked says that the rollup never gets invalid values, as from package
	// decisionlog. <namespace>_decision_values_invalid_total then does not exist.
	Checked bool
}

// A Collector is a prometheus.Collector that exports a Rollup. All methods may
// be called from any goroutine.
type Collector struct {
	rollup   *rollup.Rollup
	families *families
	more     func() (metrics []prometheus.Metric, others int)
	checked  bool

	// spare is the snapshot of an earlier scrape. The next scrape uses its
	// memory again. Collect removes the snapshot while it uses it, so that two
	// concurrent calls never share it. (A sync.Pool would be emptied between
	// scrapes.)
	spare atomic.Pointer[rollup.Snapshot]
}

var _ prometheus.Collector = (*Collector)(nil)

var namespace = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// NewCollector returns a Collector over r, which the caller must register. It
// fails if r is nil or an option is invalid. The error names the option.
//
// Several collectors over one Rollup export the same numbers. A registry
// accepts one collector for each namespace. To change options, unregister the
// old collector, and register a new one over the same Rollup.
func NewCollector(r *rollup.Rollup, o Options) (*Collector, error) {
	if r == nil {
		return nil, errors.New("prom: the rollup is nil: pass one from rollup.New")
	}
	o.Namespace = cmp.Or(o.Namespace, "opa")
	if !namespace.MatchString(o.Namespace) {
		return nil, fmt.Errorf("prom: invalid Namespace %q: it must have letters, digits and underscores, and no digit first", o.Namespace)
	}
	if o.More == nil {
		o.More = func() ([]prometheus.Metric, int) { return nil, 0 }
	}
	return &Collector{rollup: r, families: newFamilies(o.Namespace), more: o.More, checked: o.Checked}, nil
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range c.families.descs {
		ch <- desc
	}
}
