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

// A state is what the plugin has counted. There is one for each registry: it
// outlives the plugins that record into it, since OPA makes a new plugin when
// its configuration file changes, and a counter must not go back.
//
// It lives in the registry itself, as a collector without metrics that is
// never unregistered. What is exported is registered beside it, while there is
// a plugin.
type state struct {
	registry prometheus.Registerer // nil: nothing is exported

	// recording is held for reading while a decision gets its label and is
	// recorded. Whoever changes labels or rollup holds it, so that no decision
	// is lost, and none gets a label of before into what is there now.
	recording sync.RWMutex
	rollup    *rollup.Rollup // nil before the first start
	// started has the labels of the plugins that are started. It changes with
	// both mutexes held.
	started map[*recorder]*labels

	// configuring protects what follows. It is never waited for by decisions.
	configuring sync.Mutex
	config      *Config        // as carried out last, by any of the plugins
	options     rollup.Options // of rollup
	exporter    *exporter      // nil unless registered

	// activations counts changes of the labels, and lastActive says by label in
	// which of them it was last given.
	activations int
	lastActive  map[string]int

	failures [len(causes)]atomic.Uint64
	received [len(sources)]atomic.Uint64
}

var stateDesc = prometheus.NewDesc("regometer_plugin_state", "Never exported.", nil, nil)

// Describe and Collect make a state a collector without metrics.
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

// A recorder is a plugin's own part of a state: decisions get the labels that
// follow from that plugin's configuration and policy. So do those that are
// under way when the plugin stops.
type recorder struct {
	state  *state
	rules  func() *ast.Compiler // returns the compiler whose rules are active
	config *Config              // protected by state.configuring
	labels *labels              // protected by state.recording
}

// configure makes the state export what it holds, as configured, with the
// labels of this recorder among the others'. It loses nothing but the series of
// paths that have no label any more and no room. If it fails all is as it was.
//
// It asks for the rules while no other policy can be taken over, so that the
// newest is what remains.
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
	case !sameOptions(s.options, options):
		counted, err = s.rebuilt(options, s.withoutRoom(started, options.Limits.Paths))
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

// stop ends what the first configure began: the last plugin that stops ends the
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

// labelsChanged notes which labels are given now. It is called with both
// mutexes held.
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

// rebuilt returns a rollup with these options that holds what was counted, but
// for the series of the labels that are gone. It is called with both mutexes
// held.
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
		return nil, fmt.Errorf("taking over what was counted: %w", err)
	}
	return r, nil
}

// withoutRoom returns the labels whose series have to go so that there are no
// more than room: of those that none of the plugins gives any more, the ones
// that have not been given for longest, by name if for equally long.
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

// makeRoom lets series go for a label that has none yet, if it must and can. A
// plugin that is stopped takes no other's room.
func (s *state) makeRoom(l *label) {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	s.recording.Lock()
	defer s.recording.Unlock()
	l.counted.Store(true) // once is enough, whatever comes of it
	if !given(s.started, l.name) || s.rollup.Admit(l.name) {
		return
	}
	// Of hundreds of labels several go at once: all decisions wait for the copy
	// that this takes, and it takes longer the more there are.
	paths := s.options.Limits.Paths
	gone := s.withoutRoom(s.started, paths-max(1, paths/100))
	if len(gone) == 0 {
		return // several plugins give more labels than one of them may
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

func sameOptions(a, b rollup.Options) bool {
	return a.Limits == b.Limits && reflect.DeepEqual(a.Stages, b.Stages) && slices.Equal(a.Counters, b.Counters) &&
		slices.Equal(a.PathStages, b.PathStages) && a.Bounds.Equal(b.Bounds)
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

// policyPaths returns how the paths of all policies are labelled now.
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

// current returns the labels that decisions get now.
func (r *recorder) current() *labels {
	r.state.recording.RLock()
	defer r.state.recording.RUnlock()
	return r.labels
}

// A decision is what is recorded of one, from whichever source.
type decision struct {
	source      int
	path, query string
	outcome     rollup.Outcome
	code        string
}

// record counts a decision, whose metrics are numbers or a map. It reports
// whether its path is known.
func (r *recorder) record(d *decision, numbers []rollup.Number, metrics map[string]any) (known bool) {
	fresh, known := r.tryRecord(d, numbers, metrics)
	for fresh != nil {
		r.state.makeRoom(fresh)
		fresh, known = r.tryRecord(d, numbers, metrics)
	}
	return known
}

// tryRecord counts the decision, unless it returns its label, for which there
// is no room yet.
func (r *recorder) tryRecord(d *decision, numbers []rollup.Number, metrics map[string]any) (fresh *label, known bool) {
	s := r.state
	s.recording.RLock()
	defer s.recording.RUnlock()
	l, known := r.labels.of(d.path, d.query)
	if !l.counted.Load() {
		if !s.rollup.Admit(l.name) {
			return l.label, known
		}
		l.counted.Store(true)
	}
	folded := rollup.Decision{Path: l.name, Query: isQuery(d.path, d.query), Outcome: d.outcome, Code: d.code, Overflow: l.shared}
	if metrics != nil {
		s.rollup.Add(folded, metrics)
	} else {
		s.rollup.AddNumbers(folded, numbers)
	}
	s.received[d.source].Add(1)
	return nil, known
}
