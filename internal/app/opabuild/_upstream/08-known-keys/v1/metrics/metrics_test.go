// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"
)

func TestMetricsKeys(t *testing.T) {
	for _, name := range []string{"", "foo", RegoQueryEval, ServerQueryCacheHit, ServerHandler + "x"} {
		m := New()
		m.Timer(name)
		m.Counter(name)
		m.Histogram(name)
		all := m.All()
		for _, key := range []string{"timer_" + name + "_ns", "counter_" + name, "histogram_" + name} {
			if _, ok := all[key]; !ok {
				t.Errorf("Expected a key %q, got %v", key, all)
			}
		}
	}
	for name, key := range timerKeys {
		if key != "timer_"+name+"_ns" {
			t.Errorf("Unexpected key of %s: %s", name, key)
		}
	}
}

func TestMetricsAllAllocs(t *testing.T) {
	m := New()
	for _, name := range []string{ServerHandler, RegoInputParse, RegoQueryParse, RegoQueryEval} {
		m.Timer(name)
	}
	m.Counter(ServerQueryCacheHit)
	// The map, and nothing for a key; small values take no allocation either.
	if allocs := testing.AllocsPerRun(100, func() { m.All() }); allocs > 2 {
		t.Errorf("Expected two allocations, got %v", allocs)
	}
}
