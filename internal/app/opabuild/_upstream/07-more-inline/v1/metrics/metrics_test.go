// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strconv"
	"sync"
	"testing"
)

// The handles of a kind stay the same while the others come: in both arrays and
// in the map.
func TestMetricsManyHandles(t *testing.T) {
	m := New()
	var timers []Timer
	var counters []Counter
	var histograms []Histogram
	for i := range 20 {
		name := strconv.Itoa(i)
		timers = append(timers, m.Timer(name))
		counters = append(counters, m.Counter(name))
		histograms = append(histograms, m.Histogram(name))
		for j := range i + 1 {
			name := strconv.Itoa(j)
			if m.Timer(name) != timers[j] || m.Counter(name) != counters[j] || m.Histogram(name) != histograms[j] {
				t.Fatalf("%d names: expected the same handles of %s again", i+1, name)
			}
			m.Counter(name).Incr()
			m.Histogram(name).Update(int64(j))
		}
		all := m.All()
		if len(all) != 3*(i+1) {
			t.Fatalf("%d names: expected %d metrics, got %v", i+1, 3*(i+1), all)
		}
		for j := range i + 1 {
			h := all["histogram_"+strconv.Itoa(j)].(map[string]any)
			if h["count"] != int64(i+1-j) || h["max"] != int64(j) || all["counter_"+strconv.Itoa(j)] != uint64(i+1-j) {
				t.Fatalf("%d names: expected counter and histogram %d to have %d values, got %v", i+1, j, i+1-j, all)
			}
		}
	}
	m.Clear()
	for j, h := range histograms {
		h.Update(1) // of no collection any more
		if m.Histogram(strconv.Itoa(j)) == h {
			t.Fatalf("expected another handle of histogram %d after Clear", j)
		}
	}
	if got := m.Histogram("0").Value().(map[string]any)["count"]; got != int64(0) {
		t.Fatalf("expected an empty histogram after Clear, got %v", got)
	}
}

func TestMetricsConcurrentHistograms(t *testing.T) {
	const goroutines, names = 4, 20
	for range 200 {
		m := New()
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for i := range names {
					m.Histogram(strconv.Itoa(i)).Update(1)
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
			if got := all["histogram_"+strconv.Itoa(i)].(map[string]any)["count"]; got != int64(goroutines) {
				t.Fatalf("Expected histogram %d to count %d, got %v", i, goroutines, got)
			}
		}
	}
}

func TestMetricsInstrumentedAllocs(t *testing.T) {
	names := []string{"eval_op_plug", "eval_op_resolve", "eval_op_rule_index", "eval_op_builtin_call"}
	allocs := testing.AllocsPerRun(100, func() {
		m := New()
		for _, name := range []string{ServerHandler, RegoInputParse, RegoQueryParse, RegoQueryEval} {
			m.Timer(name).Start()
			m.Timer(name).Stop()
		}
		for _, name := range names {
			m.Timer(name).Start()
			m.Histogram(name).Update(m.Timer(name).Stop())
		}
	})
	// The collection, the second arrays of timers and of histograms, and of
	// each histogram the sample and its first values.
	if want := float64(3 + 2*len(names)); allocs > want {
		t.Errorf("Expected %v allocations for an instrumented request, got %v", want, allocs)
	}
}
