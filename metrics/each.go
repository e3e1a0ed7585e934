// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import "strings"

// Metric is one metric of a collection, as [Each] yields it. For a timer or a
// counter it holds the value at that moment.
type Metric struct {
	described *descriptor // its kind, name and key; nil in the zero Metric
	number    int64       // of a timer or a counter
	value     any         // a *histogram, or another implementation's value
}

// Kind returns the kind of the metric.
func (m Metric) Kind() Kind {
	if m.described == nil {
		return KindOther
	}
	return m.described.kind
}

// Name returns the name under which the metric was looked up. For KindOther it
// returns the key.
func (m Metric) Name() string {
	if m.described == nil {
		return ""
	}
	return m.described.name
}

// Key returns the metric's key in [Metrics.All], such as "timer_<name>_ns".
func (m Metric) Key() string {
	if m.described == nil {
		return ""
	}
	return m.described.key
}

// Int64 returns the nanoseconds of a timer, and 0 for other kinds.
func (m Metric) Int64() int64 {
	if m.Kind() == KindTimer {
		return m.number
	}
	return 0
}

// Uint64 returns the count of a counter, and 0 for other kinds.
func (m Metric) Uint64() uint64 {
	if m.Kind() == KindCounter {
		return uint64(m.number)
	}
	return 0
}

// Summary returns the current summary of a histogram, and the zero Summary for
// other kinds.
func (m Metric) Summary() Summary {
	s, _ := summaryOf(m.value)
	if h, ok := m.value.(*histogram); ok {
		s, _ = h.summary()
	}
	return s
}

// Value returns the value in the form of [Metrics.All]. It allocates.
func (m Metric) Value() any {
	switch m.Kind() {
	case KindTimer:
		return m.number
	case KindCounter:
		return uint64(m.number)
	}
	if h, ok := m.value.(*histogram); ok {
		return h.Value()
	}
	return m.value
}

// Each returns an iterator over the metrics of m, in no particular order. A nil
// m has none. If [New] made m, the iterator allocates nothing, except for keys
// of names that the program has seen only once. It may or may not yield metrics
// that appear while it runs. Its type is that of iter.Seq[Metric], which modules
// before Go 1.23, such as OPA 1.0.0, cannot name.
func Each(m Metrics) func(yield func(Metric) bool) {
	return func(yield func(Metric) bool) { each(m, yield) }
}

func each(m Metrics, yield func(Metric) bool) {
	if c, ok := m.(*collection); ok {
		c.store().each(func(d *descriptor, c *cell, h *histogram) bool {
			if h != nil {
				return yield(Metric{described: d, value: h})
			}
			return yield(Metric{described: d, number: c.number(d.kind)})
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

// foreign makes a Metric from an entry of another implementation's All.
func foreign(key string, value any) Metric {
	d := &descriptor{kind: KindOther, name: key, key: key}
	m := Metric{described: d, value: value}
	switch v := value.(type) {
	case int64:
		name, isTimer := strings.CutPrefix(key, "timer_")
		if name, hasUnit := strings.CutSuffix(name, "_ns"); isTimer && hasUnit {
			d.kind, d.name, m.number, m.value = KindTimer, name, v, nil
		}
	case uint64:
		if name, ok := strings.CutPrefix(key, "counter_"); ok {
			d.kind, d.name, m.number, m.value = KindCounter, name, int64(v), nil
		}
	case map[string]any:
		if name, ok := strings.CutPrefix(key, "histogram_"); ok {
			if _, ok := summaryOf(v); ok {
				d.kind, d.name = KindHistogram, name
			}
		}
	}
	return m
}
