// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regometer/regometer/rollup"
)

// A LogCounter counts decisions of the decision logs of other servers, with the
// labels and metrics of a [Plugin]. All methods may be called from any
// goroutine.
type LogCounter struct {
	recorder *recorder
	config   *settings
	policy   atomic.Pointer[ast.Compiler] // may be nil

	messages []string // of the last warnings and of the policy; protected by mu

	// learns says that paths get labels when they appear, because neither a
	// policy nor the configuration names paths. learned has these paths.
	mu      sync.Mutex // protects all of these
	learns  bool
	learned []string
}

// NewLogCounter returns a counter that exports its metrics on a registry.
// config is the configuration of the plugin, as JSON. Build.OPA and
// Build.DropIn are not needed. NewLogCounter fails if the configuration is
// invalid, or if the registry refuses the metrics.
func NewLogCounter(registry prometheus.Registerer, config []byte, b Build) (*LogCounter, error) {
	c, err := parseConfig(config)
	if err != nil {
		return nil, err
	}
	if c.Next != "" {
		return nil, fmt.Errorf("%s.next works only in an OPA: remove it", configPath)
	}
	s, err := stateOf(registry, b)
	if err != nil {
		return nil, err
	}
	l := &LogCounter{
		recorder: &recorder{state: s}, config: c,
		learns: c.Paths.Enabled && c.Paths.FromPolicy && len(c.Paths.Allow)+len(c.Paths.Prefixes) == 0,
	}
	l.recorder.rules, l.recorder.warn = l.policy.Load, l.note
	if err := l.recorder.configure(c); err != nil {
		return nil, err
	}
	return l, nil
}

// SetPolicy gives labels to the paths of a policy's rules, from now on.
func (c *LogCounter) SetPolicy(policy *ast.Compiler) {
	c.mu.Lock()
	c.learns = false
	c.mu.Unlock()
	c.policy.Store(policy)
	c.recorder.relabel()
	if text := c.recorder.current().counts.String(); text != "" {
		c.note(text)
	}
}

// note keeps a message for the next call of Messages.
func (c *LogCounter) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages = append(c.messages, text)
}

// Messages returns what there is to say since the last call about paths without
// a label of their own. Callers log it.
func (c *LogCounter) Messages() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	messages := c.messages
	c.messages = nil
	return messages
}

// Verdicts returns the rules for results of the configuration.
func (c *LogCounter) Verdicts() *rollup.Verdicts { return c.config.Outcomes }

// learn gives a path a label, if there is room for one.
func (c *LogCounter) learn(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := canonical(path)
	if !c.learns || len(c.learned) >= c.config.MaxPaths || len(name) > longestLabel || slices.Contains(c.learned, name) {
		return
	}
	config := *c.config
	config.Paths.Allow = append(slices.Clone(c.learned), name)
	if c.recorder.configure(&config) == nil {
		c.learned = config.Paths.Allow
	}
}

// A LogBatch has decisions that are not counted yet. Only one goroutine may use
// it.
type LogBatch struct {
	counter *LogCounter
	labels  *labels
	// recent has the labels of paths that came before, up to mostRecent. names
	// has the names of all labels.
	recent map[string]pathLabel
	names  []string
	n      uint64

	// The first decisions wait in pending, and their numbers in numbers. If
	// there are more, all are in rollup.
	pending []rollup.Decision
	numbers []rollup.Number
	rollup  *rollup.Rollup
}

const (
	// mostRecent limits the paths whose labels a batch remembers.
	mostRecent = 1024
	// mostPending limits the decisions that wait. A body of OPA's default size
	// has some hundred. For more, a rollup takes less memory and time.
	mostPending = 4096
	// mostNumbers limits the timers and counters of these decisions.
	mostNumbers = 1 << 16
)

// NewBatch returns an empty batch.
func (c *LogCounter) NewBatch() *LogBatch {
	return &LogBatch{counter: c, labels: c.recorder.current(), recent: map[string]pathLabel{}}
}

// Reset makes the batch empty. Its decisions do not count.
func (b *LogBatch) Reset() {
	clear(b.recent)
	clear(b.numbers) // the keys may be long
	b.labels, b.names, b.n = b.counter.recorder.current(), b.names[:0], 0
	b.pending, b.numbers, b.rollup = b.pending[:0], b.numbers[:0], nil
}

// Add adds a decision. Its Path is as in a decisionlog.Event, and it has no
// Metrics. Add ignores its fields Query and Overflow, and does not keep its
// Numbers.
func (b *LogBatch) Add(d rollup.Decision) {
	l, ok := b.recent[d.Path]
	if !ok {
		l = b.labelOf(d.Path, d.Outcome)
	}
	d.Query, d.Path, d.Overflow = d.Path == rollup.Query, l.name, l.merged != nil
	b.n++
	switch {
	case b.rollup != nil:
		b.rollup.Add(d)
	case len(b.pending) < mostPending && len(b.numbers)+len(d.Numbers) <= mostNumbers:
		first := len(b.numbers)
		b.numbers = append(b.numbers, d.Numbers...)
		d.Numbers = b.numbers[first:len(b.numbers):len(b.numbers)]
		b.pending = append(b.pending, d)
	default:
		b.rollup = b.counter.newRollup()
		b.addTo(b.rollup)
		b.rollup.Add(d)
	}
}

// labelOf returns the label of a path. It gives the path a label, if that is
// possible.
func (b *LogBatch) labelOf(name string, outcome rollup.Outcome) pathLabel {
	path, query := name, ""
	switch path {
	case rollup.Query:
		path, query = "", "query"
	case rollup.AllData:
		path = ""
	}
	l, known := b.labels.of(path, query)
	if !known && outcome != rollup.Undefined {
		b.counter.learn(path)
		b.labels = b.counter.recorder.current()
		l, known = b.labels.of(path, query)
	}
	b.counter.recorder.noteAsked(l)
	if !slices.Contains(b.names, l.name) {
		b.names = append(b.names, l.name)
	}
	if known && len(b.recent) < mostRecent && len(name) <= longestLabel { // another outcome may give an unknown path a label
		b.recent[name] = l
	}
	return l
}

// addTo moves the pending decisions to a rollup.
func (b *LogBatch) addTo(r *rollup.Rollup) {
	for i := range b.pending {
		r.Add(b.pending[i])
	}
	b.pending, b.numbers = b.pending[:0], b.numbers[:0]
}

// newRollup returns an empty rollup with the options of the counter.
func (c *LogCounter) newRollup() *rollup.Rollup {
	r, err := rollup.New(c.config.rollupOptions())
	if err != nil {
		panic(err) // NewLogCounter has checked the configuration
	}
	return r
}

// Len returns the number of decisions.
func (b *LogBatch) Len() uint64 { return b.n }

// Count counts the decisions, and makes the batch empty.
func (b *LogBatch) Count() {
	s := b.counter.recorder.state
	for _, name := range b.names {
		if !s.admits(name) {
			s.makeRoom(&label{name: name})
		}
	}
	s.recording.RLock()
	if b.rollup == nil {
		b.addTo(s.rollup)
	} else {
		var counted rollup.Snapshot
		b.rollup.Snapshot(&counted)
		if err := s.rollup.Merge(&counted); err != nil {
			panic(err) // both have the same bounds
		}
	}
	s.received[fromLog].Add(b.n)
	s.logged.Add(b.n)
	s.recording.RUnlock()
	b.Reset()
}

// admits reports whether there is room for the series of a label.
func (s *state) admits(name string) bool {
	s.recording.RLock()
	defer s.recording.RUnlock()
	return s.rollup.Admit(name)
}
