// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"
)

type metrics struct {
	mtx        sync.Mutex
	timers     group[timer]
	histograms map[string]Histogram // made with the first one
	counters   group[counter]
}

// New returns a new Metrics object.
func New() Metrics {
	// One allocation has room for what the server records in a request.
	m := &struct {
		metrics
		timers   [6]named[timer]
		counters [2]named[counter]
	}{}
	m.metrics.timers.first = m.timers[:0]
	m.metrics.counters.first = m.counters[:0]
	return &m.metrics
}

func (m *metrics) Timer(name string) Timer {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	return m.timers.get(name)
}

func (m *metrics) Histogram(name string) Histogram {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	h, ok := m.histograms[name]
	if !ok {
		h = newHistogram()
		if m.histograms == nil {
			m.histograms = map[string]Histogram{}
		}
		m.histograms[name] = h
	}
	return h
}

func (m *metrics) Counter(name string) Counter {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	return m.counters.get(name)
}

func (m *metrics) All() map[string]any {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	result := make(map[string]any, m.timers.len()+len(m.histograms)+m.counters.len())
	for name, timer := range m.timers.all {
		result[m.formatKey(name, timer)] = timer.Value()
	}
	for name, hist := range m.histograms {
		result[m.formatKey(name, hist)] = hist.Value()
	}
	for name, cntr := range m.counters.all {
		result[m.formatKey(name, cntr)] = cntr.Value()
	}
	return result
}

func (m *metrics) Timers() map[string]any {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	ts := make(map[string]any, m.timers.len())
	for n, t := range m.timers.all {
		ts[m.formatKey(n, t)] = t.Value()
	}
	return ts
}

func (m *metrics) Clear() {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	m.timers = group[timer]{} // the old ones may still be in use
	m.histograms = nil
	m.counters = group[counter]{}
}
