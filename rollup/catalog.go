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

// metric is a stage or a counter that a rollup knows.
type metric struct {
	kind      kind
	name      string
	column    int  // where its values are; more than one may be in Other's
	overflows bool // whether it is in Other's for lack of room

	// Of stages: those that may contain it, nearest first, as slots; and of
	// these, the ones that are kept by path.
	ancestors, pathAncestors []int
	slot                     int // its own among the stages that contain others, or -1
	pathIndex                int // its own among those kept by path, or -1
}

// otherColumn is the column of what has no label of its own.
const otherColumn = 0

func newMetric(k kind, name string, column int) *metric {
	return &metric{kind: k, name: name, column: column, slot: -1, pathIndex: -1}
}

// labels are those of one kind, stages or counters, by column.
type labels struct {
	names atomic.Pointer[[]string] // Other's first; only added to
	limit int                      // of names

	isOther *metric // what is called Other, and the families of instrumentation
	noRoom  *metric // what has no label for lack of room
	unknown *metric // what is looked up by admitName
}

func (l *labels) init(k kind, names []string, more int) {
	l.limit = 1 + len(names) + more
	given := append(make([]string, 0, l.limit), Other)
	given = append(given, names...)
	l.names.Store(&given)
	l.isOther = newMetric(k, Other, otherColumn)
	l.noRoom = newMetric(k, Other, otherColumn)
	l.noRoom.overflows = true
	l.unknown = newMetric(k, "", otherColumn)
}

// list returns the names that there are by now, by column.
func (l *labels) list() []string { return *l.names.Load() }

// catalog knows the metrics that a rollup was given.
type catalog struct {
	byKey    table[metric]
	families []*metric // of timers, and of counters named alike
	stages   labels
	counters labels
}

func newCatalog(t stageTable, counters []string, l Limits) *catalog {
	c := &catalog{
		byKey:    newTable[metric](2*(len(t.stages)+len(counters)+l.Stages+l.Counters), keyHash),
		families: t.families,
	}
	names := make([]string, len(t.stages))
	for i, m := range t.stages {
		names[i] = m.name
		m.column = 1 + i
		c.byKey.add(keyOf(stageKind, m.name), m)
	}
	c.stages.init(stageKind, names, l.Stages)
	c.counters.init(counterKind, counters, l.Counters)
	for i, name := range counters {
		c.byKey.add(keyOf(counterKind, name), newMetric(counterKind, name, 1+i))
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

// find returns the descriptor of a metric: labels.unknown if it has none, and
// nil for what is left alone.
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

// family returns the family of instrumentation that a name of no entry of its
// own belongs to, or nil.
func (c *catalog) family(name string) *metric {
	for _, f := range c.families {
		if strings.HasPrefix(name, f.name) {
			return f
		}
	}
	return nil
}
