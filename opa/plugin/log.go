// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regometer/regometer/internal/verdicts"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// A LogCounter counts decisions of the decision logs of other servers, with the
// labels and metrics of a [Plugin]. It is for `regometer collect`, and may change
// at any time. All methods may be called from any goroutine.
type LogCounter struct {
	recorder *recorder
	config   *settings
	policy   atomic.Pointer[ast.Compiler] // may be nil
}

// NewLogCounter returns a counter that exports its metrics on a registry, which
// no plugin uses. Metrics that logs do not tell are missing there. config is the
// configuration of the plugin, as JSON. Its key next has no effect. version is
// Regometer's version for regometer_build_info. The counter logs what there is to say about
// labels. NewLogCounter fails if the configuration is invalid, or if the
// registry refuses the metrics.
func NewLogCounter(registry prometheus.Registerer, config []byte, version string, log *slog.Logger) (*LogCounter, error) {
	c, err := parseConfig(config)
	if err != nil {
		return nil, err
	}
	s, err := stateOf(registry, buildInfo(version, "", ""))
	if err != nil {
		return nil, err
	}
	s.ofLogs = true
	l := &LogCounter{config: c}
	l.recorder = &recorder{
		state: s, rules: l.policy.Load,
		info: func(text string) { log.Info(text) },
		warn: func(text string) { log.Warn(text) },
	}
	if err := l.recorder.configure(c); err != nil {
		return nil, err
	}
	return l, nil
}

// SetPolicy gives labels to the paths of a policy's rules, from now on.
func (c *LogCounter) SetPolicy(policy *ast.Compiler) {
	c.policy.Store(policy)
	c.recorder.relabel()
}

// NeedsPolicy reports whether all paths are "other" without a policy, because
// the configuration names none.
func (c *LogCounter) NeedsPolicy() bool {
	p := c.config.Paths
	return p.Enabled && p.FromPolicy && len(p.Allow)+len(p.Prefixes) == 0
}

// Verdicts returns the rules for results of the configuration.
func (c *LogCounter) Verdicts() *verdicts.Set { return c.config.verdicts }

// A LogBatch has decisions that are not counted yet. Only one goroutine may use
// it.
type LogBatch struct {
	counter *LogCounter
	labels  *labels // those of the first decision
	n       uint64

	// Decisions wait in pending, and their numbers in numbers. If there are too
	// many, they are folded into rollup.
	pending []rollup.Decision
	numbers []rollup.Number
	rollup  *rollup.Rollup
}

const (
	// mostPending limits the decisions that wait. A body of OPA's default size
	// has some hundred. For more, a rollup takes less memory and time.
	mostPending = 4096
	// mostNumbers limits the timers and counters of these decisions.
	mostNumbers = 1 << 16
)

// NewBatch returns an empty batch.
func (c *LogCounter) NewBatch() *LogBatch {
	return &LogBatch{counter: c}
}

// Reset makes the batch empty. Its decisions do not count.
func (b *LogBatch) Reset() {
	b.forget()
	b.n, b.labels, b.rollup = 0, nil, nil
}

// forget forgets the pending decisions. Their texts may be long.
func (b *LogBatch) forget() {
	clear(b.pending)
	clear(b.numbers)
	b.pending, b.numbers = b.pending[:0], b.numbers[:0]
}

// Add adds a decision. Its Path is as in a decisionlog.Event, and it has no
// Metrics. Add ignores its fields Query and Overflow, and does not keep its
// Numbers.
func (b *LogBatch) Add(d rollup.Decision) {
	b.n++
	path, query := d.Path, ""
	switch path {
	case outcome.Query:
		path, query = "", "query"
	case outcome.AllData:
		path = ""
	}
	labels := b.counter.recorder.labels.Load()
	b.labels = cmp.Or(b.labels, labels)
	l, _ := labels.of(path, query)
	d.Query, d.Path, d.Overflow = query != "", l.name, l.shared
	if len(b.pending) == mostPending || len(b.numbers)+len(d.Numbers) > mostNumbers {
		b.fold()
	}
	first := len(b.numbers)
	b.numbers = append(b.numbers, d.Numbers...)
	d.Numbers = b.numbers[first:len(b.numbers):len(b.numbers)]
	b.pending = append(b.pending, d)
}

// fold moves the pending decisions to the batch's rollup.
func (b *LogBatch) fold() {
	if b.rollup == nil {
		var err error
		if b.rollup, err = rollup.New(b.counter.config.rollupOptions()); err != nil {
			panic(err) // NewLogCounter has checked the configuration
		}
	}
	b.addTo(b.rollup)
}

// addTo moves the pending decisions to a rollup.
func (b *LogBatch) addTo(r *rollup.Rollup) {
	for i := range b.pending {
		r.Add(b.pending[i])
	}
	b.forget()
}

// Len returns the number of decisions.
func (b *LogBatch) Len() uint64 { return b.n }

// Count counts the decisions, and makes the batch empty.
func (b *LogBatch) Count() {
	s := b.counter.recorder.state
	s.recording.RLock()
	b.addTo(s.rollup)
	if b.rollup != nil {
		var counted rollup.Snapshot
		b.rollup.Snapshot(&counted)
		if err := s.rollup.Merge(&counted); err != nil {
			panic(err) // both have the same bounds
		}
	}
	s.received[fromLog].Add(b.n)
	s.recording.RUnlock()
	if b.labels != nil && b.labels != b.counter.recorder.labels.Load() {
		b.counter.recorder.endFormer() // a policy has come meanwhile
	}
	b.Reset()
}
