// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// A state holds the counts of the plugins on a registry. It outlives these
// plugins, because OPA makes a new plugin when its configuration file changes,
// and counters must not fall.
//
// The registry itself keeps the state, as a collector without metrics that is
// never unregistered. While a plugin is started, the registry also has an
// exporter.
type state struct {
	counts
	registry prometheus.Registerer // if it is nil, nothing is exported

	// A decision holds recording for reading while it gets its label and is
	// recorded. A change of the labels or of the rollup holds it for writing,
	// so that no decision gets lost or gets an old label.
	recording sync.RWMutex
	rollup    *rollup.Rollup // nil before the first start
	// started has the plugins that are started. The last one was configured
	// last. It changes with both mutexes held.
	started []*recorder

	// configuring protects the fields below. Decisions never wait for it.
	configuring sync.Mutex
	config      *settings      // the last one that any plugin has applied
	options     rollup.Options // the options of rollup
	exporter    *exporter      // nil if none is registered
}

var stateDesc = prometheus.NewDesc("regometer_plugin_state", "Never exported.", nil, nil)

// Describe implements prometheus.Collector, for a collector without metrics.
func (*state) Describe(ch chan<- *prometheus.Desc) { ch <- stateDesc }

// Collect implements prometheus.Collector.
func (*state) Collect(chan<- prometheus.Metric) {}

// stateOf returns the state of a registry, which may be nil. It makes and
// registers the state and info if there is none. It fails if the registry
// refuses them.
func stateOf(registry prometheus.Registerer, info prometheus.Collector) (*state, error) {
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
	if err == nil {
		err = registry.Register(info)
	}
	return s, err
}

// A recorder is a plugin's own part of a state. It gives decisions the labels
// of the plugin's configuration and policy, even decisions that end after the
// plugin has stopped.
type recorder struct {
	state  *state
	rules  func() *ast.Compiler // returns the compiler of the active policy
	warn   func(text string)    // logs which labels are lost
	info   func(text string)    // logs which labels are shared
	config *settings            // protected by state.configuring
	shared atomic.Value         // the last message about shared labels

	labels atomic.Pointer[labels] // changes with both mutexes held

	revisions func() []revision // returns the revisions of the active bundles; may be nil
}

// configure makes the state export its counts as configuration c says, with the
// labels of this recorder. If it fails, it changes nothing.
//
// It reads the rules while it holds the mutex that relabel needs, so that the
// newest policy wins.
func (r *recorder) configure(c *settings) error {
	s := r.state
	s.configuring.Lock()
	defer s.configuring.Unlock()
	options := c.rollupOptions()
	l := newLabels(c, r.rules())
	// From here on, decisions wait. With hundreds of labels this takes some
	// milliseconds.
	s.recording.Lock()
	defer s.recording.Unlock()
	var err error
	counted := s.rollup
	switch {
	case counted == nil:
		counted, err = rollup.New(options)
	case !reflect.DeepEqual(s.options, options):
		counted, err = s.rebuild(options, s.labelsToEnd(r, l, options.Paths))
	}
	if err == nil {
		err = s.export(counted, c)
	}
	if err != nil {
		return err
	}
	r.config = c
	s.config, s.options, s.rollup = c, options, counted
	s.started = append(s.others(r), r)
	r.give(l)
	return nil
}

// others returns the started recorders without r.
func (s *state) others(r *recorder) []*recorder {
	return slices.DeleteFunc(slices.Clone(s.started), func(other *recorder) bool { return other == r })
}

// last returns the recorder that was configured last, or nil if none is
// started. The caller holds a mutex.
func (s *state) last() *recorder {
	if len(s.started) == 0 {
		return nil
	}
	return s.started[len(s.started)-1]
}

// relabel updates the labels to the rules of a new policy, unless the plugin is
// stopped. It says which paths have no label of their own, unless it said the
// same before.
func (r *recorder) relabel() {
	if lost := r.replaceLabels(); len(lost) > 0 {
		r.warn(fmt.Sprintf("A new policy takes the labels of %d paths with decisions: %s. "+
			"To keep the label of a path, name the path in paths.allow.", len(lost), listed(lost)))
	}
	text := r.labels.Load().counts.String()
	if r.shared.Swap(text) != text && text != "" {
		r.info(text)
	}
}

// replaceLabels replaces the labels, and returns the paths with decisions that
// have lost theirs.
func (r *recorder) replaceLabels() (lost []string) {
	s := r.state
	s.configuring.Lock()
	defer s.configuring.Unlock()
	compiler := r.rules()
	if !slices.Contains(s.started, r) || r.labels.Load().compiler == compiler {
		return nil
	}
	l := newLabels(r.config, compiler)
	lost = r.labels.Load().lost(l, s.rollup.Labels())
	s.lost.Add(uint64(len(lost)))
	s.recording.Lock()
	defer s.recording.Unlock()
	r.give(l)
	return lost
}

// stop removes this recorder's labels. When the last plugin stops, the export
// ends.
func (r *recorder) stop() {
	s := r.state
	s.configuring.Lock()
	defer s.configuring.Unlock()
	s.recording.Lock()
	defer s.recording.Unlock()
	s.started = s.others(r)
	if len(s.started) == 0 && s.exporter != nil {
		s.registry.Unregister(s.exporter)
		s.exporter = nil
	}
}

// give makes l the labels of this recorder, and ends the series for which they
// leave no room. The caller holds both mutexes.
func (r *recorder) give(l *labels) {
	s := r.state
	r.labels.Store(l)
	gone := s.labelsToEnd(r, l, s.options.Paths)
	if len(gone) == 0 {
		return
	}
	counted, err := s.rebuild(s.options, gone)
	if err == nil {
		err = s.export(counted, s.config)
	}
	if err == nil { // otherwise labels without room count as other
		s.rollup = counted
	}
}

// rebuild returns a rollup with these options and the counts of the current
// one, without the series of the labels in gone. The caller holds both mutexes.
func (s *state) rebuild(o rollup.Options, gone map[string]bool) (*rollup.Rollup, error) {
	r, err := rollup.New(o)
	if err != nil {
		return nil, err
	}
	var counted rollup.Snapshot
	s.rollup.Snapshot(&counted)
	counted.Paths = slices.DeleteFunc(counted.Paths, func(p rollup.Path) bool { return gone[p.Label] })
	counted.Rebound(o.Bounds)
	if err := r.Merge(&counted); err != nil {
		return nil, fmt.Errorf("keeping the counts: %w", err)
	}
	return r, nil
}

// endFormer ends the series of former labels that are in the way.
func (r *recorder) endFormer() {
	s := r.state
	s.configuring.Lock()
	defer s.configuring.Unlock()
	s.recording.Lock()
	defer s.recording.Unlock()
	r.give(r.labels.Load())
}

// labelsToEnd returns the labels whose series must end, so that all labels that
// the plugins give have room. l are the labels that r gives. Labels that no
// plugin gives end, first those that were counted first.
func (s *state) labelsToEnd(r *recorder, l *labels, room int) map[string]bool {
	given := maps.Clone(l.given)
	for _, other := range s.others(r) {
		maps.Copy(given, other.labels.Load().given)
	}
	idle := slices.DeleteFunc(s.rollup.Labels(), func(name string) bool { return given[name] })
	gone := map[string]bool{}
	for _, name := range idle[:min(max(len(given)+len(idle)-room, 0), len(idle))] {
		gone[name] = true
	}
	return gone
}

// export registers a collector for a rollup, and unregisters the current one.
// It fails if the registry refuses the new one.
func (s *state) export(r *rollup.Rollup, c *settings) error {
	e := s.exporter
	if e == nil || e.namespace != c.Namespace {
		e = newExporter(c.Namespace, &s.counts, s.policyPaths, s.revisions)
	}
	collector, err := prom.NewCollector(r, prom.Options{Namespace: c.Namespace, More: e.own, Checked: s.ofLogs})
	if err != nil || s.registry == nil {
		return err
	}
	if e.collector.Store(collector); e == s.exporter { // so that no scrape misses the metrics
		return nil
	}
	if err := s.registry.Register(e); err != nil {
		return fmt.Errorf("registering the metrics: %w", err)
	}
	if s.exporter != nil {
		s.registry.Unregister(s.exporter)
	}
	s.exporter = e
	return nil
}

// policyPaths counts the paths of the policy of the plugin that was configured
// last. It returns nil if no policy gives labels.
func (s *state) policyPaths() *policyPaths {
	s.recording.RLock()
	defer s.recording.RUnlock()
	if r := s.last(); r != nil {
		return r.labels.Load().counts
	}
	return nil
}

// revisions returns the revisions of the plugin that was configured last. It
// holds no lock while it reads them: an activation holds the store, and then
// needs the lock.
func (s *state) revisions() []revision {
	s.recording.RLock()
	r := s.last()
	s.recording.RUnlock()
	if r == nil || r.revisions == nil {
		return nil
	}
	return r.revisions()
}

// record adds a decision to the rollup, under its label. It reports whether the
// decision's path is known.
func (r *recorder) record(d *decision) (known bool) {
	s := r.state
	s.recording.RLock()
	defer s.recording.RUnlock()
	l, known := r.labels.Load().of(d.Path, d.query)
	d.Path, d.Query, d.Overflow = l.name, isQuery(d.Path, d.query), l.shared
	s.rollup.Add(d.Decision)
	s.received[d.source].Add(1)
	return known
}
