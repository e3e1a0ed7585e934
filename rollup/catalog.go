// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"strings"
	"sync/atomic"
)

type kind uint8

const (
	neither kind = iota
	stageKind
	counterKind
)

// metric is a stage or a counter that has a label or a place in the table of
// stages.
type metric struct {
	kind kind
	name string

	// column is where its values are in a path's row: 1 upwards if it has a
	// label, and otherwise one of the constants below.
	column atomic.Int32

	around []int // slots of the stages that may contain it, nearest first
	slot   int   // its own among the stages that contain others, or -1
}

const (
	otherColumn = 0
	noneYet     = -1 // never seen: it may still get a label
	folded      = -2 // in otherColumn for lack of room
)

func newMetric(k kind, name string, column int32) *metric {
	m := &metric{kind: k, name: name, slot: -1}
	m.column.Store(column)
	return m
}

// place returns the column of a metric that was seen.
func (m *metric) place() int { return max(int(m.column.Load()), otherColumn) }

// label returns the label of a metric that was seen.
func (m *metric) label() string {
	if m.place() == otherColumn {
		return Other
	}
	return m.name
}

// labels hands out the labels of one kind.
type labels struct {
	limit int
	given atomic.Int32 // how many, changed under the rollup's mutex
	other atomic.Bool  // whether Other is among what was seen

	isOther *metric // what is called Other
	noRoom  *metric // what has no descriptor of its own for lack of room
	unknown *metric // what has none yet
}

func (l *labels) init(k kind, limit int) {
	l.limit = limit
	l.isOther = newMetric(k, Other, otherColumn)
	l.noRoom = newMetric(k, Other, folded)
	l.unknown = newMetric(k, "", noneYet)
}

func (l *labels) full() bool { return int(l.given.Load()) >= l.limit }

// give returns a new column, under the rollup's mutex.
func (l *labels) give() int32 {
	if l.full() {
		return folded
	}
	return l.given.Add(1)
}

// seen returns how many labels there are, Other included if it was needed.
func (l *labels) seen() int {
	n := int(l.given.Load())
	if l.other.Load() {
		n++
	}
	return n
}

// catalog knows the metrics that a rollup was given.
type catalog struct {
	byKey    table[metric]
	families []*metric
	stages   labels
	counters labels
}

func newCatalog(t stageTable, l Limits) *catalog {
	c := &catalog{
		byKey:    newTable[metric](2 * (len(t.stages) + l.Stages + l.Counters)),
		families: t.families,
	}
	c.stages.init(stageKind, l.Stages)
	c.counters.init(counterKind, l.Counters)
	for _, m := range t.stages {
		c.byKey.add(keyOf(stageKind, m.name), m)
	}
	for _, name := range [...]string{"", Other} {
		c.byKey.add(keyOf(stageKind, name), c.stages.isOther)
		c.byKey.add(keyOf(counterKind, name), c.counters.isOther)
	}
	return c
}

const (
	timerPrefix   = "timer_"
	timerSuffix   = "_ns"
	counterPrefix = "counter_"
)

func keyOf(k kind, name string) string {
	if k == counterKind {
		return counterPrefix + name
	}
	return timerPrefix + name + timerSuffix
}

// split returns the kind and the name of a key, neither for what is left alone.
func split(key string) (kind, string) {
	if name, ok := strings.CutPrefix(key, counterPrefix); ok {
		return counterKind, name
	}
	if name, ok := strings.CutPrefix(key, timerPrefix); ok {
		if name, ok := strings.CutSuffix(name, timerSuffix); ok {
			return stageKind, name
		}
	}
	return neither, ""
}

func (c *catalog) labels(k kind) *labels {
	if k == counterKind {
		return &c.counters
	}
	return &c.stages
}

// find returns the descriptor of a metric: labels.unknown if it has none, and nil
// for what is left alone.
func (c *catalog) find(key string) *metric {
	if m := c.byKey.get(key); m != nil {
		return m
	}
	k, _ := split(key)
	if k == neither {
		return nil
	}
	return c.labels(k).unknown
}

// see is called with a metric that has no label of its own, or none yet, and
// says whether that is for lack of room.
func (r *Rollup) see(m *metric) (overflow bool) {
	l := r.catalog.labels(m.kind)
	if m.column.Load() == noneYet {
		r.mu.Lock()
		if m.column.Load() == noneYet {
			m.column.Store(l.give())
		}
		r.mu.Unlock()
	}
	column := m.column.Load()
	if column <= 0 && !l.other.Load() {
		l.other.Store(true)
	}
	return column == folded
}

// newName returns the descriptor of a stage or counter that is unknown. It gives
// it a label, if there is room.
func (r *Rollup) newName(key string) *metric {
	c := r.catalog
	if clean := valid(key); clean != key {
		key = clean
		if m := c.byKey.get(key); m != nil {
			return m
		}
	}
	k, name := split(key)
	if k == stageKind {
		for _, f := range c.families {
			if strings.HasPrefix(name, f.name) {
				return f
			}
		}
	}
	l := c.labels(k)
	if len(name) > maxName || l.full() {
		return l.noRoom
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if m := c.byKey.get(key); m != nil {
		return m
	}
	if l.full() {
		return l.noRoom
	}
	m := newMetric(k, strings.Clone(name), l.give())
	c.byKey.add(keyOf(k, name), m)
	return m
}
