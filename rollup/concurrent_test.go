// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/regometer/regometer/internal/race"
	"github.com/regometer/regometer/rollup"
)

// TestConcurrent adds from several goroutines while others take snapshots, of
// which no number may ever go down.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	o := newWorld(0).options(rollup.Limits{Paths: 6, Stages: 3, Counters: 3})
	r := newRollup(t, o)
	const adders, each = 4, 500

	var adding, watching sync.WaitGroup
	for seed := range uint64(adders) {
		adding.Go(func() {
			w := newWorld(seed)
			for i := range each {
				d, numbers := w.decision()
				for j := range numbers {
					numbers[j].Value = max(numbers[j].Value, 0)
				}
				if i%2 == 0 {
					r.AddNumbers(d, numbers)
					continue
				}
				m := map[string]any{}
				for _, n := range numbers {
					m[n.Key] = n.Value
				}
				r.Add(d, m)
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
	checkSize(t, c, o)
	sequential := newModel(newWorld(0), rollup.Limits{Paths: 1})
	for seed := range uint64(adders) {
		w := newWorld(seed)
		for range each {
			d, numbers := w.decision()
			for j := range numbers {
				numbers[j].Value = max(numbers[j].Value, 0)
			}
			sequential.add(d, numbers)
		}
	}
	got, want := sumsOf(c), sumsOf(sequential.contents)
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// numbersOf returns all numbers of a snapshot that may only grow, by name.
func numbersOf(s *rollup.Snapshot) map[string]uint64 {
	all := map[string]uint64{}
	add := func(path string, stages []rollup.StageTotal) {
		for i := range stages {
			st := &stages[i]
			name := path + " stage " + st.Stage
			all[name+" count"] = st.Histogram.Count()
			_, all[name+" sum"] = st.Histogram.Sum()
			all[name+" self"] = st.Self
			for cause, n := range st.Unfinished {
				all[fmt.Sprint(name, " unfinished ", cause)] = n
			}
		}
	}
	for i := range s.Paths {
		p := &s.Paths[i]
		for o, n := range p.Outcomes {
			all[fmt.Sprint(p.Label, " outcome ", o)] = n
		}
		add(p.Label, p.Stages)
	}
	add("all", s.Stages)
	for _, c := range s.Counters {
		all["counter "+c.Counter] = c.Total
	}
	for _, e := range s.Errors {
		all["code "+e.Code] = e.Total
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
				r[0].Add(rollup.Decision{Path: fmt.Sprint("p", i%3)}, map[string]any{"timer_s_ns": int64(1 + i), "counter_c": 1})
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

// TestCloneMeanwhile: clones that are taken while others add have no more than
// is there, and the last one has all of it.
func TestCloneMeanwhile(t *testing.T) {
	t.Parallel()
	const adders = 2
	each := 100_000
	if race.Enabled {
		each = 10_000
	}
	r := newRollup(t, rollup.Options{Limits: rollup.Limits{Stages: 2}})
	var adding sync.WaitGroup
	done := make(chan struct{})
	for range adders {
		adding.Go(func() {
			for i := range each {
				d := rollup.Decision{Path: "p", Outcome: rollup.Error, Code: "internal_error", Overflow: true}
				r.AddNumbers(d, []rollup.Number{{"timer_server_handler_ns", int64(i % 5)}, {"timer_mine_ns", 1}, {"counter_c", 3}})
			}
		})
	}
	go func() {
		adding.Wait()
		close(done)
	}()
	var before sums // of the clone before
	for adding := true; adding; {
		select {
		case <-done:
			adding = false
		default:
		}
		s := sumsOf(contentsOf(t, r.Clone()))
		if s.outcomes[rollup.Error] < before.outcomes[rollup.Error] || s.stages.count < before.stages.count || s.counters < before.counters {
			t.Errorf("a clone has %+v, one before it had %+v", s, before)
		}
		before = s
	}
	n := uint64(adders * each)
	if before.outcomes[rollup.Error] != n || before.errors != n || before.counters != 3*n ||
		before.stages.count != n+n*4/5 || before.unfinished[rollup.CauseFailed] != n/5 {
		t.Errorf("the last clone: %+v", before)
	}
	if got, want := contentsOf(t, r.Clone()).Overflow, (rollup.Overflow{Paths: n, Counters: 3 * n}); got != want {
		t.Errorf("overflow %+v, want %+v", got, want)
	}
}

// TestCoveredMeanwhile: of a stage whose time is all that of the stages in it,
// no snapshot shows self time, whatever is being added.
func TestCoveredMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	d := rollup.Decision{Path: "p"}
	numbers := []rollup.Number{{"timer_server_handler_ns", 50}, {"timer_rego_query_eval_ns", 50}}
	r.AddNumbers(d, numbers)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200_000 {
			r.AddNumbers(d, numbers)
		}
	}()
	var s rollup.Snapshot
	for adding := true; adding; {
		select {
		case <-done:
			adding = false
		default:
		}
		r.Snapshot(&s)
		for _, stages := range [][]rollup.StageTotal{s.Stages, s.Paths[0].Stages} {
			if self := stageOf(t, stages, "server_handler").Self; self != 0 {
				t.Fatalf("self time %d", self)
			}
		}
	}
}
