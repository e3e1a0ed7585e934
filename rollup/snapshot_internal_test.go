// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import "testing"

// TestSelfTimeMeanwhile takes snapshots between the steps in which a decision is
// added.
func TestSelfTimeMeanwhile(t *testing.T) {
	t.Parallel()
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.AddNumbers(Decision{Path: "p"}, []Number{{"timer_server_handler_ns", 100}, {"timer_rego_query_eval_ns", 70}})
	c := r.stages[r.catalog.byKey.get("timer_server_handler_ns").column].Load()

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
