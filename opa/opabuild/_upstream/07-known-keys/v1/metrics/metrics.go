// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

func (m *metrics) All() map[string]any {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	timers, counters := m.timers.len(), m.counters.len()
	result := make(map[string]any, timers+len(m.histograms)+counters)
	for name, timer := range m.timers.all(m.firstTimers[:]) {
		result[timerKey(name)] = timer.Value()
	}
	for name, hist := range m.histograms {
		result[histogramPrefix+name] = hist.Value()
	}
	for name, cntr := range m.counters.all(m.firstCounters[:]) {
		result[counterKey(name)] = cntr.Value()
	}
	return result
}

func (m *metrics) Timers() map[string]any {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	ts := make(map[string]any, m.timers.len())
	for n, t := range m.timers.all(m.firstTimers[:]) {
		ts[timerKey(n)] = t.Value()
	}
	return ts
}
