// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"sync"
)

// Any number of metrics, looked up by any number of goroutines, behave as those
// of a map do.
func TestMetricsLookup(t *testing.T) {
	const goroutines, names = 4, 40

	m := New()
	old, oldTimer := m.Counter("counter_0"), m.Timer("timer_0")
	for round := range 2 {
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for i := range names {
					m.Counter(fmt.Sprintf("counter_%d", i)).Incr()
					m.Timer(fmt.Sprintf("timer_%d", i)).Stop()
					m.Histogram(fmt.Sprintf("histogram_%d", i)).Update(int64(i))
				}
			})
		}
		wg.Wait()

		all := m.All()
		if len(all) != 3*names {
			t.Fatalf("round %d: expected %d metrics, got %d", round, 3*names, len(all))
		}
		if got := m.(TimerMetrics).Timers(); len(got) != names {
			t.Errorf("round %d: expected %d timers, got %d", round, names, len(got))
		}
		for i := range names {
			name := fmt.Sprintf("counter_%d", i)
			if got := all["counter_"+name]; got != uint64(goroutines) {
				t.Errorf("round %d: %s: expected %d, got %v", round, name, goroutines, got)
			}
			if m.Counter(name) != m.Counter(name) || m.Timer(name) != m.Timer(name) {
				t.Errorf("round %d: %s: expected the same metric for the same name", round, name)
			}
		}

		// A metric from before Clear stays usable, but is not reported.
		m.Clear()
		if got := m.All(); len(got) != 0 {
			t.Errorf("round %d: expected no metrics after Clear, got %v", round, got)
		}
		if m.Counter("counter_0") == old || m.Timer("timer_0") == oldTimer {
			t.Errorf("round %d: expected new metrics after Clear", round)
		}
		m.Clear()
		old.Incr()
		if got := old.Value(); got != uint64(goroutines+1+round) {
			t.Errorf("round %d: expected the old counter to count on, got %v", round, got)
		}
	}
}
