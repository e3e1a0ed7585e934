// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/regometer/regometer/rollup"
)

// TestConcurrent adds from several goroutines while others take snapshots, of
// which no number may ever go down.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	limits := rollup.Limits{Paths: 6, Stages: 10, Counters: 3, Histograms: 40, Events: 10}
	r := newRollup(t, rollup.Options{Limits: limits, Stages: newWorld(0).stages})
	const adders, each = 4, 500

	var adding, watching sync.WaitGroup
	for seed := range uint64(adders) {
		adding.Go(func() {
			w := newWorld(seed)
			for i := range each {
				path, outcome, numbers := w.decision()
				for j := range numbers {
					numbers[j].Value = max(numbers[j].Value, 0)
				}
				if i%2 == 0 {
					r.AddNumbers(path, outcome, numbers)
					continue
				}
				m := map[string]any{}
				for _, n := range numbers {
					m[n.Key] = n.Value
				}
				r.Add(path, outcome, m)
			}
		})
	}
	done := make(chan struct{})
	watching.Go(func() {
		var s rollup.Snapshot
		var order []string
		last := map[string]uint64{}
		for finished := false; !finished; {
			select {
			case <-done:
				finished = true
			default:
			}
			r.Snapshot(&s)
			var labels []string
			for i := range s.Paths {
				if s.Paths[i].Label != rollup.Other {
					labels = append(labels, s.Paths[i].Label)
				}
			}
			if len(labels) < len(order) || !slices.Equal(labels[:len(order)], order) {
				t.Errorf("the order of paths changed from %q to %q", order, labels)
			}
			order = labels
			for name, n := range numbersOf(&s) {
				if n < last[name] {
					t.Errorf("%s went from %d down to %d", name, last[name], n)
				}
				last[name] = n
			}
		}
	})
	adding.Wait()
	close(done)
	watching.Wait()

	c := contentsOf(t, r)
	checkBounds(t, c, limits)
	sequential := newModel(rollup.Limits{Paths: 1, Stages: 1, Counters: 1, Histograms: 9, Events: 9}, newWorld(0).parents, nil)
	for seed := range uint64(adders) {
		w := newWorld(seed)
		for range each {
			path, outcome, numbers := w.decision()
			for j := range numbers {
				numbers[j].Value = max(numbers[j].Value, 0)
			}
			sequential.add(path, outcome, numbers)
		}
	}
	got, want := sumsOf(c), sumsOf(sequential.contents())
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// numbersOf returns all numbers of a snapshot that may only grow, by name.
func numbersOf(s *rollup.Snapshot) map[string]uint64 {
	all := map[string]uint64{}
	for i := range s.Paths {
		p := &s.Paths[i]
		for o, n := range p.Outcomes {
			all[fmt.Sprint(p.Label, " outcome ", o)] = n
		}
		for j := range p.Stages {
			st := &p.Stages[j]
			name := p.Label + " stage " + st.Stage
			all[name+" count"] = st.Histogram.Count()
			_, all[name+" sum"] = st.Histogram.Sum()
			all[name+" self"] = st.Self
			all[name+" unfinished"] = st.Unfinished
		}
		for _, e := range p.Events {
			all[p.Label+" event "+e.Event] = e.Total
		}
	}
	return all
}

// TestCrosswiseMerge merges two rollups into each other from two goroutines.
func TestCrosswiseMerge(t *testing.T) {
	t.Parallel()
	a, b := newRollup(t, rollup.Options{}), newRollup(t, rollup.Options{})
	var both sync.WaitGroup
	for _, r := range [][2]*rollup.Rollup{{a, b}, {b, a}} {
		both.Go(func() {
			var s rollup.Snapshot
			for i := range 20 {
				r[0].Add(fmt.Sprint("p", i%3), rollup.Allowed, map[string]any{"timer_s_ns": int64(1 + i), "counter_c": 1})
				r[1].Snapshot(&s)
				if err := r[0].Merge(&s); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	for _, r := range []*rollup.Rollup{a, b} {
		if s := sumsOf(contentsOf(t, r)); s.outcomes[rollup.Allowed] < 20 {
			t.Errorf("%d decisions, at least 20 were added", s.outcomes[rollup.Allowed])
		}
	}
}
