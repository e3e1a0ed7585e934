// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build go1.23

package metrics

import (
	"iter"
	"strings"
)

// Metric is one metric of a collection, as [Each] yields it. It holds the value
// that a timer or a counter had then.
type Metric struct {
	kind      Kind
	name, key string
	number    int64
	histogram *histogram // of a collection that New made
	value     any        // of another implementation, and neither timer nor counter
}

// Kind returns the kind of the metric.
func (m Metric) Kind() Kind { return m.kind }

// Name returns the name that the metric was looked up by.
func (m Metric) Name() string { return m.name }

// Key returns the metric's key in [Metrics.All], such as "timer_<name>_ns".
func (m Metric) Key() string { return m.key }

// Int64 returns the nanoseconds of a timer, and 0 for other kinds.
func (m Metric) Int64() int64 {
	if m.kind == KindTimer {
		return m.number
	}
	return 0
}

// Uint64 returns the count of a counter, and 0 for other kinds.
func (m Metric) Uint64() uint64 {
	if m.kind == KindCounter {
		return uint64(m.number)
	}
	return 0
}

// Summary returns the summary of a histogram as it is now, and the zero Summary
// for other kinds.
func (m Metric) Summary() Summary {
	if m.histogram != nil {
		return m.histogram.summary()
	}
	s, _ := summaryOf(m.value)
	return s
}

// Value returns the value as [Metrics.All] has it. It allocates.
func (m Metric) Value() any {
	switch {
	case m.histogram != nil:
		return m.histogram.Value()
	case m.kind == KindTimer:
		return m.number
	case m.kind == KindCounter:
		return uint64(m.number)
	default:
		return m.value
	}
}

// Each returns an iterator over the metrics of m, in no particular order. On a
// collection that [New] made it allocates nothing. Metrics that appear while it
// runs may or may not be among them.
func Each(m Metrics) iter.Seq[Metric] {
	return func(yield func(Metric) bool) { each(m, yield) }
}

func each(m Metrics, yield func(Metric) bool) {
	if c, ok := m.(*collection); ok {
		c.store().each(func(d *descriptor, c *cell, h *histogram) bool {
			return yield(Metric{kind: d.kind, name: d.name, key: d.key, number: c.number(d.kind), histogram: h})
		})
		return
	}
	if m == nil {
		return
	}
	for key, value := range m.All() {
		if !yield(foreign(key, value)) {
			return
		}
	}
}

// foreign makes a Metric out of what another implementation reports.
func foreign(key string, value any) Metric {
	m := Metric{name: key, key: key, value: value}
	switch v := value.(type) {
	case int64:
		name, isTimer := strings.CutPrefix(key, "timer_")
		if name, hasUnit := strings.CutSuffix(name, "_ns"); isTimer && hasUnit {
			m.kind, m.name, m.number, m.value = KindTimer, name, v, nil
		}
	case uint64:
		if name, ok := strings.CutPrefix(key, "counter_"); ok {
			m.kind, m.name, m.number, m.value = KindCounter, name, int64(v), nil
		}
	case map[string]any:
		if name, ok := strings.CutPrefix(key, "histogram_"); ok {
			if _, ok := summaryOf(v); ok {
				m.kind, m.name = KindHistogram, name
			}
		}
	}
	return m
}
