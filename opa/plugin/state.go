// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// A state is what the plugin has counted. There is one for each registry: it
// outlives the plugins that record into it, since OPA makes a new plugin when
// its configuration file changes, and a counter must not go back.
//
// It lives in the registry itself, as a collector without metrics that is
// never unregistered. What is exported is registered beside it, while there is
// a plugin.
type state struct {
	registry prometheus.Registerer // nil: nothing is exported

	// recording is held for reading while a decision is recorded, so that none
	// is lost when the rollup is replaced.
	recording sync.RWMutex
	rollup    *rollup.Rollup

	// configuring protects what follows. It is never waited for by Log.
	configuring sync.Mutex
	options     rollup.Options // of rollup
	exporter    *exporter      // nil unless registered
	users       int            // plugins that are started

	failures [len(causes)]atomic.Uint64
}

// The causes of failures that are counted.
const (
	causePanic = iota // an event could not be recorded
	causeNext         // the next plugin returned an error or panicked
)

var causes = [...]string{causePanic: "panic", causeNext: "next"}

// failureSeries is how many series these make.
const failureSeries = len(causes)

var stateDesc = prometheus.NewDesc("regometer_plugin_state", "Never exported.", nil, nil)

// Describe and Collect make a state a collector without metrics.
func (*state) Describe(ch chan<- *prometheus.Desc) { ch <- stateDesc }

// Collect implements prometheus.Collector.
func (*state) Collect(chan<- prometheus.Metric) {}

// stateOf returns the state of a registry, which may be nil.
func stateOf(registry prometheus.Registerer) (*state, error) {
	s := &state{registry: registry}
	if registry == nil {
		return s, nil
	}
	err := registry.Register(s)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if s, ok := registered.ExistingCollector.(*state); ok {
			return s, nil
		}
	}
	return s, err
}

// start makes the state export what it holds, as configured.
func (s *state) start(c *Config) error {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	if err := s.configure(c); err != nil {
		return err
	}
	s.users++
	return nil
}

// stop ends what start began: the last plugin that stops ends the export.
func (s *state) stop() {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	if s.users--; s.users == 0 && s.exporter != nil {
		s.registry.Unregister(s.exporter)
		s.exporter = nil
	}
}

// reconfigure changes limits and names, and loses nothing. If it fails all is
// as it was.
func (s *state) reconfigure(c *Config) error {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	return s.configure(c)
}

func (s *state) configure(c *Config) error {
	options, err := c.rollupOptions()
	if err != nil {
		return err
	}
	if s.rollup != nil && sameOptions(s.options, options) {
		return s.export(s.rollup, c)
	}
	r, err := rollup.New(options)
	if err != nil {
		return err
	}
	if s.rollup == nil {
		if err := s.export(r, c); err != nil {
			return err
		}
		s.rollup, s.options = r, options
		return nil
	}
	// Decisions wait here for some milliseconds.
	s.recording.Lock()
	defer s.recording.Unlock()
	var counted rollup.Snapshot
	s.rollup.Snapshot(&counted)
	if err := r.Merge(&counted); err != nil {
		return fmt.Errorf("taking over what was counted: %w", err)
	}
	if err := s.export(r, c); err != nil {
		return err
	}
	s.rollup, s.options = r, options
	return nil
}

func sameOptions(a, b rollup.Options) bool {
	return a.Limits == b.Limits && reflect.DeepEqual(a.Stages, b.Stages) // Label is always the same
}

// export registers a rollup's collector in place of the one before it.
func (s *state) export(r *rollup.Rollup, c *Config) error {
	collector, err := prom.NewCollector(r, c.promOptions())
	if err != nil || s.registry == nil {
		return err
	}
	if s.exporter != nil && s.exporter.namespace == c.Namespace {
		s.exporter.collector.Store(collector) // the same metrics: no scrape misses them
		return nil
	}
	e := &exporter{
		namespace: c.Namespace, state: s,
		failures: prometheus.NewDesc(c.Namespace+"_decision_plugin_failures_total",
			"Events that Regometer's decision-log plugin could not record (panic) or hand on to the next plugin (next).",
			[]string{"cause"}, nil),
	}
	e.collector.Store(collector)
	if err := s.registry.Register(e); err != nil {
		return fmt.Errorf("registering the metrics: %w", err)
	}
	if s.exporter != nil {
		s.registry.Unregister(s.exporter)
	}
	s.exporter = e
	return nil
}

// add records a decision. label is rollup.Other or one of the labels'.
func (s *state) add(label string, o rollup.Outcome, metrics map[string]any) {
	s.recording.RLock()
	defer s.recording.RUnlock()
	s.rollup.Add(label, o, metrics)
}

// An exporter is the collector of all that a state exports.
type exporter struct {
	namespace string
	state     *state
	collector atomic.Pointer[prom.Collector]
	failures  *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (e *exporter) Describe(ch chan<- *prometheus.Desc) {
	e.collector.Load().Describe(ch)
	ch <- e.failures
}

// Collect implements prometheus.Collector.
func (e *exporter) Collect(ch chan<- prometheus.Metric) {
	e.collector.Load().Collect(ch)
	for i, cause := range causes {
		ch <- prometheus.MustNewConstMetric(e.failures, prometheus.CounterValue, float64(e.state.failures[i].Load()), cause)
	}
}
