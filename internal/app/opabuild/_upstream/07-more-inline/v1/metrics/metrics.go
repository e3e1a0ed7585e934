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
	histograms group[histogram]

	// What the server records for a decision has room here.
	firstTimers   [6]named[timer]
	firstCounters [2]named[counter]
}

func (m *metrics) Timer(name string) Timer {
	return m.timers.get(&m.mtx, m.firstTimers[:], name, nil)
}

func (m *metrics) Histogram(name string) Histogram {
	return m.histograms.get(&m.mtx, nil, name, (*histogram).init)
}

func (m *metrics) Counter(name string) Counter {
	return m.counters.get(&m.mtx, m.firstCounters[:], name, nil)
}

func (m *metrics) All() map[string]any {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	result := make(map[string]any, m.timers.len()+m.histograms.len()+m.counters.len())
	m.timers.each(m.firstTimers[:], func(name string, timer *timer) {
		result[m.formatKey(name, timer)] = timer.Value()
	})
	m.histograms.each(nil, func(name string, hist *histogram) {
		result[m.formatKey(name, hist)] = hist.Value()
	})
	m.counters.each(m.firstCounters[:], func(name string, cntr *counter) {
		result[m.formatKey(name, cntr)] = cntr.Value()
	})
	return result
}

func (m *metrics) Clear() {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	m.timers.clear()
	m.histograms.clear()
	m.counters.clear()
}

func newHistogram() *histogram {
	h := new(histogram)
	h.init()
	return h
}

func (h *histogram) init() {
	// NOTE(tsandall): the reservoir size and alpha factor are taken from
	// https://github.com/rcrowley/go-metrics. They may need to be tweaked in
	// the future.
	h.sample = newExpDecaySample(reservoirSize, 0.015)
}
