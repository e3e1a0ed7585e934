// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

func (m *metrics) All() map[string]any {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	result := make(map[string]any, m.timers.len()+m.histograms.len()+m.counters.len())
	m.timers.each(m.firstTimers[:], func(name string, timer *timer) {
		result[timerKey(name)] = timer.Value()
	})
	m.histograms.each(nil, func(name string, hist *histogram) {
		result[histogramPrefix+name] = hist.Value()
	})
	m.counters.each(m.firstCounters[:], func(name string, cntr *counter) {
		result[counterKey(name)] = cntr.Value()
	})
	return result
}

func (m *metrics) Timers() map[string]any {
	m.mtx.Lock()
	defer m.mtx.Unlock()
	ts := make(map[string]any, m.timers.len())
	m.timers.each(m.firstTimers[:], func(n string, t *timer) {
		ts[timerKey(n)] = t.Value()
	})
	return ts
}
