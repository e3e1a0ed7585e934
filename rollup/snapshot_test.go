// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"testing"

	"github.com/regometer/regometer/exphist"
)

// TestSelfTimeMeanwhile takes snapshots between the steps in which a decision
// is added.
func TestSelfTimeMeanwhile(t *testing.T) {
	t.Parallel()
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.AddNumbers(Decision{Path: "p"}, []Number{{"timer_server_handler_ns", 100}, {"timer_rego_query_eval_ns", 70}})
	c := r.stages[r.catalog.byKey.get("timer_server_handler_ns").Column].Load()

	var s Snapshot
	requireSelf := func(want uint64) {
		t.Helper()
		r.Snapshot(&s)
		for _, st := range s.Stages {
			if st.Stage == "server_handler" && st.Self != want {
				t.Errorf("self time %d, want %d", st.Self, want)
			}
		}
	}
	requireSelf(30)
	c.covered.Add(60)
	requireSelf(30) // 40 are less than before
	c.histogram.Record(80)
	requireSelf(50)
}

// TestSelfTimeSaturates has more than fits.
func TestSelfTimeSaturates(t *testing.T) {
	t.Parallel()
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r.AddNumbers(Decision{Path: "p"}, []Number{{"timer_rego_query_eval_ns", 1<<63 - 1}})
	}
	var s Snapshot
	r.Snapshot(&s)
	if got := s.Paths[0].Stages[0].Self; got != 1<<64-1 {
		t.Errorf("self time %d", got)
	}
}

// TestSelfTimeAtOnce: of two snapshots that are taken at once, later ones show
// no less self time than either did.
func TestSelfTimeAtOnce(t *testing.T) {
	t.Parallel()
	const rounds = 50_000
	var less, more exphist.Snapshot
	h := exphist.New(exphist.Nanosecond)
	h.Record(40)
	h.Snapshot(&less)
	h.Record(10)
	h.Snapshot(&more)
	ds, snapshots := make([]durations, rounds), [2]*exphist.Snapshot{&less, &more}
	done := atOnce(rounds, func(g, i int) { ds[i].selfTime(snapshots[g]) })
	for i := range done {
		if n := ds[i].self.Load(); n != 50 {
			t.Fatalf("self time %d, want 50", n)
		}
	}
}
