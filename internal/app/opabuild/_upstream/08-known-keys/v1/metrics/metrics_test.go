// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"
)

func TestMetricsKeys(t *testing.T) {
	for _, name := range []string{"", "foo", ServerHandler, ServerQueryCacheHit, RegoQueryEval, RegoQueryEval + "_ns"} {
		m := New()
		m.Timer(name).Stop()
		m.Counter(name).Incr()
		m.Histogram(name).Update(1)
		all := m.All()
		for _, key := range []string{"timer_" + name + "_ns", "counter_" + name, "histogram_" + name} {
			if _, ok := all[key]; !ok {
				t.Errorf("%q: expected the key %q, got %v", name, key, all)
			}
		}
		if timers := m.(TimerMetrics).Timers(); len(timers) != 1 || timers["timer_"+name+"_ns"] != int64(0) {
			t.Errorf("%q: unexpected timers %v", name, timers)
		}
	}
}

func TestMetricsAllAllocs(t *testing.T) {
	m := New()
	for _, name := range []string{ServerHandler, RegoInputParse, RegoExternalResolve, RegoQueryEval} {
		m.Timer(name).Stop()
	}
	m.Counter(ServerQueryCacheHit).Incr()
	if got := testing.AllocsPerRun(100, func() { m.All() }); got > 2 {
		t.Errorf("Expected All to allocate the map only, got %v allocations", got)
	}
}
