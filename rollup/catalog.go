// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"sync/atomic"

	"github.com/regometer/regometer/internal/stages"
)

// labels are those of one kind, stages or counters, by column.
type labels struct {
	names atomic.Pointer[[]string] // Other's first; only added to
	limit int                      // of names

	isOther *stages.Metric // what is called Other, and the families of instrumentation
	noRoom  *stages.Metric // what has no label for lack of room
	unknown *stages.Metric // what is looked up by admitName
}

func (l *labels) init(k stages.Kind, names []string, more int) {
	l.limit = 1 + len(names) + more
	given := append(make([]string, 0, l.limit), Other)
	given = append(given, names...)
	l.names.Store(&given)
	l.isOther = stages.NewMetric(k, Other, stages.OtherColumn)
	l.noRoom = stages.NewMetric(k, Other, stages.OtherColumn)
	l.noRoom.Overflows = true
	l.unknown = stages.NewMetric(k, "", stages.OtherColumn)
}

// list returns the names that there are by now, by column.
func (l *labels) list() []string { return *l.names.Load() }

// catalog knows the metrics that a rollup was given.
type catalog struct {
	byKey    table[stages.Metric]
	known    stages.Table // whose families counters have too
	stages   labels
	counters labels
}

func newCatalog(t stages.Table, counters []string, l Limits) *catalog {
	c := &catalog{
		byKey: newTable[stages.Metric](2*(len(t.Stages)+len(counters)+l.Stages+l.Counters), keyHash),
		known: t,
	}
	names := make([]string, len(t.Stages))
	for i, m := range t.Stages {
		names[i] = m.Name
		m.Column = 1 + i
		c.byKey.add(stages.KeyOf(stages.Timer, m.Name), m)
	}
	c.stages.init(stages.Timer, names, l.Stages)
	c.counters.init(stages.Counter, counters, l.Counters)
	for i, name := range counters {
		c.byKey.add(stages.KeyOf(stages.Counter, name), stages.NewMetric(stages.Counter, name, 1+i))
	}
	for _, name := range [...]string{"", Other} {
		c.byKey.add(stages.KeyOf(stages.Timer, name), c.stages.isOther)
		c.byKey.add(stages.KeyOf(stages.Counter, name), c.counters.isOther)
	}
	return c
}

func (c *catalog) labels(k stages.Kind) *labels {
	if k == stages.Counter {
		return &c.counters
	}
	return &c.stages
}

// find returns the descriptor of a metric: labels.unknown if it has none, and
// nil for what is left alone.
func (c *catalog) find(key string) *stages.Metric {
	if m := c.byKey.get(key); m != nil {
		return m
	}
	k, _ := stages.Split(key)
	if k == stages.Neither {
		return nil
	}
	return c.labels(k).unknown
}
