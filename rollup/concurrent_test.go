// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/regometer/regometer/internal/race"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// TestConcurrent adds from several goroutines while others take snapshots. No
// number may ever go down, and nothing may be lost.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	const adders, each = 4, 500
	o := newWorld(0).options(6)
	r, want := newRollup(t, o), newModel(newWorld(0), 6)
	decisionsOf := func(seed uint64) (decisions []rollup.Decision) {
		w := newWorld(seed)
		for range each {
			d := w.decision()
			for i := range d.Numbers {
				d.Numbers[i].Value = max(d.Numbers[i].Value, 0)
			}
			decisions = append(decisions, d)
		}
		return decisions
	}
	var adding, watching sync.WaitGroup
	for seed := range uint64(adders) {
		decisions := decisionsOf(seed)
		for _, d := range decisions {
			want.add(d)
		}
		adding.Go(func() {
			for _, d := range decisions {
				r.Add(d)
			}
		})
	}
	done := make(chan struct{})
	watching.Go(func() {
		var s rollup.Snapshot
		var order []string
		last := map[string]uint64{}
		untilClosed(done, func() {
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
		})
	})
	adding.Wait()
	close(done)
	watching.Wait()
	c := contentsOf(t, r)
	checkSize(t, c, o)
	if got, want := sumsOf(c), sumsOf(want.contents); got != want {
		t.Errorf("the sums are %+v, want %+v", got, want)
	}
}

// untilClosed calls f again and again, the last time after done was closed.
func untilClosed(done chan struct{}, f func()) {
	for closed := false; !closed; {
		select {
		case <-done:
			closed = true
		default:
		}
		f()
	}
}

// numbersOf returns the numbers of a snapshot that never go down, by name.
func numbersOf(s *rollup.Snapshot) map[string]uint64 {
	all := map[string]uint64{}
	add := func(path string, stages []rollup.StageTotal) {
		for i := range stages {
			st := &stages[i]
			name := path + " stage " + st.Stage
			all[name+" count"] = st.Histogram.Count()
			_, all[name+" sum"] = st.Histogram.Sum()
			all[name+" self"] = st.Self
			for cause, n := range st.Unfinished() {
				all[fmt.Sprint(name, " unfinished ", cause)] = n
			}
		}
	}
	for i := range s.Paths {
		p := &s.Paths[i]
		for o, n := range p.Outcomes() {
			all[fmt.Sprint(p.Label, " outcome ", o)] = n
		}
		add(p.Label, p.Stages)
	}
	add("all", s.Stages)
	for _, c := range s.Counters {
		all["counter "+c.Name] = c.Total
	}
	for _, e := range s.Errors {
		all["code "+e.Name] = e.Total
	}
	return all
}

// TestMergeMeanwhile merges snapshots that are taken while others add. The sums
// never go down, and the last snapshot has everything. A stage whose time is
// all in the contained stage never has self time.
func TestMergeMeanwhile(t *testing.T) {
	t.Parallel()
	const adders = 2
	each := 100_000
	if race.Enabled {
		each = 10_000
	}
	r := newRollup(t, rollup.Options{})
	d := rollup.Decision{Path: "p", Outcome: outcome.Failed, Code: "internal_error", Overflow: true}
	d.Numbers = []rollup.Number{
		{"timer_server_handler_ns", 50}, {"timer_rego_query_eval_ns", 50}, {"timer_disk_read_ns", 0}, {"counter_c", 3},
	}
	r.Add(d)
	var adding sync.WaitGroup
	for range adders {
		adding.Go(func() {
			for range each {
				r.Add(d)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		adding.Wait()
		close(done)
	}()
	var s, last rollup.Snapshot
	var before sums
	untilClosed(done, func() {
		r.Snapshot(&s)
		merged := newRollup(t, rollup.Options{})
		if err := merged.Merge(&s); err != nil {
			t.Error(err)
		}
		merged.Snapshot(&last)
		for _, stages := range [][]rollup.StageTotal{last.Stages, last.Paths[0].Stages} {
			if self := selfTimes(stages)["server_handler"]; self != 0 {
				t.Errorf("the self time is %d, want 0", self)
			}
		}
		got := sumsOf(contentsOf(t, merged))
		if got.outcomes[outcome.Failed] < before.outcomes[outcome.Failed] || got.stages.count < before.stages.count || got.counters < before.counters {
			t.Errorf("the sums went from %+v down to %+v", before, got)
		}
		before = got
	})
	n := uint64(adders*each + 1)
	if before.outcomes[outcome.Failed] != n || before.errors != n || before.counters != 3*n ||
		before.stages.count != 2*n || before.unfinished[causeFailed] != n {
		t.Errorf("the last sums are %+v, want those of %d decisions", before, n)
	}
	if want := (rollup.Overflow{Paths: n, Counters: 3 * n}); last.Overflow != want {
		t.Errorf("the overflow is %+v, want %+v", last.Overflow, want)
	}
}
