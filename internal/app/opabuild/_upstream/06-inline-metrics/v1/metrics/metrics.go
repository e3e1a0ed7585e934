// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"
)

type metrics struct {
	mtx        sync.Mutex
	timers     group[timer]
	counters   group[counter]
	histograms map[string]*histogram

	// What the server records for a decision has room here.
	firstTimers   [6]named[timer]
	firstCounters [2]named[counter]
}

// New returns a new Metrics object.
func New() Metrics {
	return &metrics{}
}

func (m *metrics) Timer(name string) Timer {
	return m.timers.get(&m.mtx, m.firstTimers[:], name)
}

func (m *metrics) Histogram(name string) Histogram {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	h, ok := m.histograms[name]
	if !ok {
		if m.histograms == nil {
			m.histograms = map[string]*histogram{}
		}
		h = newHistogram()
		m.histograms[name] = h
	}
	return h
}

func (m *metrics) Counter(name string) Counter {
	return m.counters.get(&m.mtx, m.firstCounters[:], name)
}

func (m *metrics) All() map[string]any {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	result := make(map[string]any, m.timers.len()+len(m.histograms)+m.counters.len())
	m.timers.each(m.firstTimers[:], func(name string, timer *timer) {
		result[m.formatKey(name, timer)] = timer.Value()
	})
	for name, hist := range m.histograms {
		result[m.formatKey(name, hist)] = hist.Value()
	}
	m.counters.each(m.firstCounters[:], func(name string, cntr *counter) {
		result[m.formatKey(name, cntr)] = cntr.Value()
	})
	return result
}

func (m *metrics) Timers() map[string]any {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	ts := make(map[string]any, m.timers.len())
	m.timers.each(m.firstTimers[:], func(n string, t *timer) {
		ts[m.formatKey(n, t)] = t.Value()
	})
	return ts
}

func (m *metrics) Clear() {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	m.timers.clear()
	m.histograms = nil
	m.counters.clear()
}

func newHistogram() *histogram {
	// NOTE(tsandall): the reservoir size and alpha factor are taken from
	// https://github.com/rcrowley/go-metrics. They may need to be tweaked in
	// the future.
	return &histogram{sample: newExpDecaySample(reservoirSize, 0.015)}
}
