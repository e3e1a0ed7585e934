// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
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

// A state holds the plugin's counts. There is one for each registry. It
// outlives the plugins that record into it, because OPA makes a new plugin when
// its configuration file changes, and a counter must not go back.
//
// It lives in the registry itself, as a collector without metrics that is never
// unregistered. While there is a plugin, the registry also has an exporter.
type state struct {
	registry prometheus.Registerer // nil: nothing is exported

	// recording is held for reading while a decision gets its label and is
	// recorded. A change of the labels or of the rollup holds it for writing,
	// so that no decision is lost, and none gets a former label.
	recording sync.RWMutex
	rollup    *rollup.Rollup // nil before the first start
	// started has the labels of the started plugins. It changes with both
	// mutexes held.
	started map[*recorder]*labels

	// configuring protects the fields below. Decisions never wait for it.
	configuring sync.Mutex
	config      *Config        // the last one that took effect, of any plugin
	options     rollup.Options // of rollup
	exporter    *exporter      // nil unless registered

	// activations counts changes of the labels. lastActive has, for each label,
	// the last change that gave it.
	activations int
	lastActive  map[string]int

	failures [len(causes)]atomic.Uint64
	received [len(sources)]atomic.Uint64
}

var stateDesc = prometheus.NewDesc("regometer_plugin_state", "Never exported.", nil, nil)

// Describe implements prometheus.Collector, for a collector without metrics.
func (*state) Describe(ch chan<- *prometheus.Desc) { ch <- stateDesc }

// Collect implements prometheus.Collector.
func (*state) Collect(chan<- prometheus.Metric) {}

// stateOf returns the state of a registry, which may be nil.
func stateOf(registry prometheus.Registerer, b Build) (*state, error) {
	s := &state{registry: registry, started: map[*recorder]*labels{}}
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
		err = registry.Register(buildInfo(b))
	}
	return s, err
}

// A recorder is a plugin's own part of a state. Its decisions get the labels
// that follow from the plugin's configuration and policy, even those that end
// after the plugin has stopped.
type recorder struct {
	state  *state
	rules  func() *ast.Compiler // returns the compiler of the active policy
	config *Config              // protected by state.configuring
	labels *labels              // protected by state.recording
}

// configure makes the state export its counts by configuration c, with the
// labels of this recorder and the others. Only series of paths that have
// neither a label nor room end. If configure fails, it changes nothing.
//
// It asks for the rules while no other policy can be taken over, so that the
// newest one remains.
func (r *recorder) configure(c *Config) error {
	s := r.state
	s.configuring.Lock()
	defer s.configuring.Unlock()
	options, err := c.rollupOptions()
	if err != nil {
		return err
	}
	l := newLabels(c, r.rules())
	started := maps.Clone(s.started)
	started[r] = l
	// Decisions wait here, for some milliseconds with hundreds of labels.
	s.recording.Lock()
	defer s.recording.Unlock()
	counted := s.rollup
	switch {
	case counted == nil:
		counted, err = rollup.New(options)
	case !reflect.DeepEqual(s.options, options):
		counted, err = s.rebuilt(options, s.withoutRoom(started, options.Paths))
	}
	if err == nil {
		err = s.export(counted, c)
	}
	if err != nil {
		return err
	}
	r.config, r.labels = c, l
	s.config, s.options, s.rollup, s.started = c, options, counted, started
	s.labelsChanged()
	return nil
}

// relabel takes over the rules of a new policy, unless the plugin is stopped.
func (r *recorder) relabel() {
	s := r.state
	s.configuring.Lock()
	defer s.configuring.Unlock()
	compiler := r.rules()
	if s.started[r] == nil || r.labels.compiler == compiler {
		return
	}
	l := newLabels(r.config, compiler)
	s.recording.Lock()
	defer s.recording.Unlock()
	r.labels, s.started[r] = l, l
	s.labelsChanged()
}

// stop removes this recorder's labels. The last plugin that stops ends the
// export.
func (r *recorder) stop() {
	s := r.state
	s.configuring.Lock()
	defer s.configuring.Unlock()
	s.recording.Lock()
	defer s.recording.Unlock()
	delete(s.started, r)
	s.labelsChanged()
	if len(s.started) == 0 && s.exporter != nil {
		s.registry.Unregister(s.exporter)
		s.exporter = nil
	}
}

// labelsChanged notes which labels the started plugins give now. The caller
// holds both mutexes.
func (s *state) labelsChanged() {
	s.activations++
	active := map[string]int{}
	for _, name := range s.rollup.Labels() {
		active[name] = s.lastActive[name]
	}
	for _, l := range s.started {
		for name, label := range l.given {
			active[name] = s.activations
			label.counted.Store(false) // there may be room now
		}
	}
	s.lastActive = active
}

// rebuilt returns a rollup with these options and the counts of the present
// one, except the series of the labels in gone. The caller holds both mutexes.
func (s *state) rebuilt(o rollup.Options, gone map[string]bool) (*rollup.Rollup, error) {
	r, err := rollup.New(o)
	if err != nil {
		return nil, err
	}
	var counted rollup.Snapshot
	s.rollup.Snapshot(&counted)
	counted.Paths = slices.DeleteFunc(counted.Paths, func(p rollup.Path) bool { return gone[p.Label] })
	counted.Rebound(o.Bounds)
	if err := r.Merge(&counted); err != nil {
		return nil, fmt.Errorf("taking over the counts: %w", err)
	}
	return r, nil
}

// withoutRoom returns the labels whose series must end so that no more than
// room are left. They are labels that no plugin gives any more, the longest
// unused ones first, and by name if equally long.
func (s *state) withoutRoom(started map[*recorder]*labels, room int) map[string]bool {
	var idle []string
	for _, name := range s.rollup.Labels() {
		if given(started, name) {
			room--
		} else {
			idle = append(idle, name)
		}
	}
	slices.SortFunc(idle, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.lastActive[a], s.lastActive[b]), cmp.Compare(a, b))
	})
	gone := map[string]bool{}
	for _, name := range idle[:min(max(len(idle)-room, 0), len(idle))] {
		gone[name] = true
	}
	return gone
}

func given(started map[*recorder]*labels, name string) bool {
	for _, l := range started {
		if l.given[name] != nil {
			return true
		}
	}
	return false
}

// makeRoom ends series, if necessary and possible, for a label that has none
// yet. The labels of a stopped plugin get no room.
func (s *state) makeRoom(l *label) {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	s.recording.Lock()
	defer s.recording.Unlock()
	l.counted.Store(true) // once is enough, even if there is no room
	if !given(s.started, l.name) || s.rollup.Admit(l.name) {
		return
	}
	// If there are hundreds of labels, several end at once: all decisions wait
	// for the copy, which takes longer with more labels.
	paths := s.options.Paths
	gone := s.withoutRoom(s.started, paths-max(1, paths/100))
	if len(gone) == 0 {
		return // several plugins together give more labels than there is room for
	}
	r, err := s.rebuilt(s.options, gone)
	if err == nil {
		err = s.export(r, s.config)
	}
	if err == nil {
		s.rollup = r
		r.Admit(l.name)
	}
}

// export registers a rollup's collector in place of the present one.
func (s *state) export(r *rollup.Rollup, c *Config) error {
	collector, err := prom.NewCollector(r, prom.Options{Namespace: c.Namespace, MoreSeries: func() int { return ownSeries }})
	if err != nil || s.registry == nil {
		return err
	}
	if s.exporter != nil && s.exporter.namespace == c.Namespace {
		s.exporter.collector.Store(collector) // the same metrics: no scrape misses them
		return nil
	}
	e := newExporter(c.Namespace, s, collector)
	if err := s.registry.Register(e); err != nil {
		return fmt.Errorf("registering the metrics: %w", err)
	}
	if s.exporter != nil {
		s.registry.Unregister(s.exporter)
	}
	s.exporter = e
	return nil
}

// policyPaths returns the sums over the policies of all started plugins.
func (s *state) policyPaths() (sum policyPaths) {
	s.recording.RLock()
	defer s.recording.RUnlock()
	for _, l := range s.started {
		sum.own += l.counts.own
		sum.merged += l.counts.merged
		sum.other += l.counts.other
	}
	return sum
}

// current returns the present labels.
func (r *recorder) current() *labels {
	r.state.recording.RLock()
	defer r.state.recording.RUnlock()
	return r.labels
}

// A decision is a decision on its way to the rollup. Its Path is the path that
// was asked for, until tryRecord replaces it by the label.
type decision struct {
	rollup.Decision
	source int
	query  string
}

// record counts a decision. It reports whether the decision's path is known.
func (r *recorder) record(d *decision) (known bool) {
	fresh, known := r.tryRecord(d)
	for fresh != nil {
		r.state.makeRoom(fresh)
		fresh, known = r.tryRecord(d)
	}
	return known
}

// tryRecord counts the decision under its label. If there is no room for the
// label yet, it returns the label instead.
func (r *recorder) tryRecord(d *decision) (fresh *label, known bool) {
	s := r.state
	s.recording.RLock()
	defer s.recording.RUnlock()
	l, known := r.labels.of(d.Path, d.query)
	if !l.counted.Load() {
		if !s.rollup.Admit(l.name) {
			return l.label, known
		}
		l.counted.Store(true)
	}
	d.Path, d.Query, d.Overflow = l.name, isQuery(d.Path, d.query), l.shared
	s.rollup.Add(d.Decision)
	s.received[d.source].Add(1)
	return nil, known
}
