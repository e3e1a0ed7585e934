// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"errors"
	"fmt"
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
	labels    *labels // nil before the first start
	rollup    *rollup.Rollup

	// configuring protects what follows. It is never waited for by decisions.
	configuring sync.Mutex
	config      *Config        // as carried out last
	options     rollup.Options // of rollup
	exporter    *exporter      // nil unless registered
	users       int            // plugins that are started

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
	s := &state{registry: registry, lastActive: map[string]int{}}
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

// start makes the state export what it holds, as configured. rules returns the
// compiler whose rules are active: it is asked while no other policy can be
// taken over, so that the newest is what remains.
func (s *state) start(c *Config, rules func() *ast.Compiler) error {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	s.users++
	err := s.configure(c, newLabels(c, rules()))
	if err != nil {
		s.users--
	}
	return err
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

// reconfigure changes limits, names and labels, and loses nothing but the
// series of paths that have no label any more and no room. If it fails all is
// as it was.
func (s *state) reconfigure(c *Config, rules func() *ast.Compiler) error {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	return s.configure(c, newLabels(c, rules()))
}

// relabel takes over the rules of a new policy, unless the configuration is no
// longer the one that holds.
func (s *state) relabel(c *Config, rules func() *ast.Compiler) {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	if s.config != c {
		return
	}
	if compiler := rules(); s.labels.compiler != compiler {
		_ = s.configure(c, newLabels(c, compiler)) // the same configuration was carried out before
	}
}

func (s *state) configure(c *Config, l *labels) error {
	options, err := c.rollupOptions()
	if err != nil {
		return err
	}
	// Decisions wait here, for some milliseconds with hundreds of labels.
	s.recording.Lock()
	defer s.recording.Unlock()
	r := s.rollup
	if r == nil || !sameOptions(s.options, options) {
		if r, err = s.rebuilt(options, l, 0); err != nil {
			return err
		}
	}
	if err := s.export(r, c); err != nil {
		return err
	}
	s.config, s.labels, s.rollup, s.options = c, l, r, options
	s.activations++
	active := map[string]int{}
	for _, label := range r.Labels() {
		active[label] = s.lastActive[label]
	}
	for label := range l.given {
		active[label] = s.activations
	}
	s.lastActive = active
	return nil
}

// rebuilt returns a rollup with these options that holds what was counted, but
// for the series of labels that are not given any more for which there is no
// room, beside more series that are to come. It is called with both mutexes
// held.
func (s *state) rebuilt(o rollup.Options, l *labels, more int) (*rollup.Rollup, error) {
	r, err := rollup.New(o)
	if err != nil || s.rollup == nil {
		return r, err
	}
	gone := s.withoutRoom(s.rollup.Labels(), l, o.Limits.Paths-more)
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
// more than room: of those that are not given any more, the ones that have not
// been for longest, by name if for equally long.
func (s *state) withoutRoom(counted []string, l *labels, room int) map[string]bool {
	var idle []string
	for _, label := range counted {
		if l.given[label] == nil {
			idle = append(idle, label)
		} else {
			room--
		}
	}
	slices.SortFunc(idle, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.lastActive[a], s.lastActive[b]), cmp.Compare(a, b))
	})
	gone := map[string]bool{}
	for _, label := range idle[:min(max(len(idle)-room, 0), len(idle))] {
		gone[label] = true
	}
	return gone
}

// makeRoom lets series go for a label that has none yet, if it must.
func (s *state) makeRoom(l *label) {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	s.recording.Lock()
	defer s.recording.Unlock()
	if s.labels.given[l.name] != l {
		return // of former labels
	}
	if !s.rollup.Admit(l.name) {
		// Of hundreds of labels several go at once: all decisions wait for the
		// copy that this takes, and it takes longer the more there are.
		r, err := s.rebuilt(s.options, s.labels, max(1, s.options.Limits.Paths/100))
		if err == nil {
			err = s.export(r, s.config)
		}
		if err == nil {
			s.rollup = r
			r.Admit(l.name)
		}
	}
	l.counted.Store(true) // once is enough, whatever came of it
}

func sameOptions(a, b rollup.Options) bool {
	return a.Limits == b.Limits && reflect.DeepEqual(a.Stages, b.Stages) && slices.Equal(a.Counters, b.Counters) &&
		slices.Equal(a.PathStages, b.PathStages) && a.Bounds.Equal(b.Bounds)
}

// export registers a rollup's collector in place of the one before it, as long
// as there is a plugin: one that is stopped may still be told of policies, and
// be given decisions.
func (s *state) export(r *rollup.Rollup, c *Config) error {
	collector, err := prom.NewCollector(r, c.promOptions())
	if err != nil || s.registry == nil || s.users == 0 {
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

// policyPaths returns how the policy's paths are labelled now.
func (s *state) policyPaths() policyPaths {
	s.recording.RLock()
	defer s.recording.RUnlock()
	if s.labels == nil {
		return policyPaths{}
	}
	return s.labels.counts
}

// compiler returns the one whose rules the labels are made of, nil if there is
// none.
func (s *state) compiler() *ast.Compiler {
	s.recording.RLock()
	defer s.recording.RUnlock()
	if s.labels == nil {
		return nil
	}
	return s.labels.compiler
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
func (s *state) record(d *decision, numbers []rollup.Number, metrics map[string]any) (known bool) {
	fresh, known := s.tryRecord(d, numbers, metrics)
	for fresh != nil {
		s.makeRoom(fresh)
		fresh, known = s.tryRecord(d, numbers, metrics)
	}
	return known
}

// tryRecord counts the decision, unless it returns its label, for which there
// is no room yet.
func (s *state) tryRecord(d *decision, numbers []rollup.Number, metrics map[string]any) (fresh *label, known bool) {
	s.recording.RLock()
	defer s.recording.RUnlock()
	if s.labels == nil {
		return nil, true
	}
	l, known := s.labels.of(d.path, d.query)
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
