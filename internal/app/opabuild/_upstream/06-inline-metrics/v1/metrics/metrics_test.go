// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strconv"
	"sync"
	"testing"
)

func TestMetricsHandles(t *testing.T) {
	for _, n := range []int{1, 2, 3, 6, 7, 100} {
		m := New()
		timers, counters := map[string]Timer{}, map[string]Counter{}
		for i := range n {
			name := strconv.Itoa(i)
			timers[name], counters[name] = m.Timer(name), m.Counter(name)
			m.Counter(name).Incr()
		}
		for name := range timers {
			if m.Timer(name) != timers[name] || m.Counter(name) != counters[name] {
				t.Fatalf("%d names: expected the same handles again", n)
			}
			m.Counter(name).Incr()
		}
		all := m.All()
		if len(all) != 2*n || len(m.(TimerMetrics).Timers()) != n {
			t.Fatalf("Expected %d timers and counters, got %v", n, all)
		}
		for name := range counters {
			if got := all["counter_"+name]; got != uint64(2) {
				t.Fatalf("%d names: expected counter %s to be 2, got %v", n, name, got)
			}
		}

		m.Clear()
		for name := range timers {
			counters[name].Add(10) // of no collection any more
			if m.Timer(name) == timers[name] || m.Counter(name) == counters[name] {
				t.Fatalf("%d names: expected other handles after Clear", n)
			}
			if got := m.Counter(name).Value(); got != uint64(0) {
				t.Fatalf("%d names: expected counter %s to be 0 after Clear, got %v", n, name, got)
			}
		}
	}
}

func TestMetricsConcurrentNames(t *testing.T) {
	const goroutines, names = 4, 20
	for range 200 {
		m := New()
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for i := range names {
					m.Counter(strconv.Itoa(i)).Incr()
					m.Timer(strconv.Itoa(i)).Stop()
				}
			})
		}
		wg.Wait()
		all := m.All()
		if len(all) != 2*names {
			t.Fatalf("Expected %d metrics, got %v", 2*names, all)
		}
		for i := range names {
			if got := all["counter_"+strconv.Itoa(i)]; got != uint64(goroutines) {
				t.Fatalf("Expected counter %d to be %d, got %v", i, goroutines, got)
			}
		}
	}
}

func TestMetricsRequestAllocs(t *testing.T) {
	allocs := testing.AllocsPerRun(100, func() {
		m := New()
		for _, name := range []string{ServerHandler, RegoInputParse, RegoQueryParse, RegoQueryCompile, RegoModuleCompile, RegoQueryEval} {
			m.Timer(name).Start()
			m.Timer(name).Stop()
		}
		m.Counter(ServerQueryCacheHit).Incr()
	})
	if allocs > 1 {
		t.Errorf("Expected one allocation for what a request records, got %v", allocs)
	}
}
