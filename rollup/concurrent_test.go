// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

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
	var done atomic.Bool
	watching.Go(func() {
		var s rollup.Snapshot
		var order []string
		last := map[string]uint64{}
		for finished := false; !finished; {
			finished = done.Load()
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
	done.Store(true)
	watching.Wait()
	c := contentsOf(t, r)
	checkSize(t, c, o)
	if got, want := sumsOf(c), sumsOf(want.contents); got != want {
		t.Errorf("the sums are %+v, want %+v", got, want)
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
