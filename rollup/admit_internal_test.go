// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
)

// TestFasterGoroutine gives what was looked up in vain, as a goroutine does that
// another one has overtaken since: it takes what is there by now, and nothing
// beyond the limits.
func TestFasterGoroutine(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Limits: Limits{Paths: 2, Stages: 2, Counters: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []kind{stageKind, counterKind} {
		l := r.catalog.labels(k)
		before := len(l.list())
		a := r.addName(k, "a")
		if again := r.addName(k, "a"); again != a || a.column != before {
			t.Errorf("a stage or counter twice: %+v and %+v", a, again)
		}
		r.addName(k, "b")
		if c := r.addName(k, "c"); c != l.noRoom {
			t.Errorf("one more than there is room for: %+v", c)
		}
		if names := l.list()[before:]; !slices.Equal(names, []string{"a", "b"}) {
			t.Errorf("names %q", names)
		}
	}

	a, _ := r.addPath("a")
	if again, overflow := r.addPath("a"); again != a || overflow {
		t.Error("a path twice")
	}
	r.addPath("b")
	if row, overflow := r.addPath("c"); row != r.other || !overflow {
		t.Errorf("one more path than there is room for: %+v", row)
	}
	if labels := r.Labels(); !slices.Equal(labels, []string{"a", "b"}) {
		t.Errorf("paths %q", labels)
	}

	var at atomic.Pointer[durations]
	if first := r.newDurations(&at); first != r.newDurations(&at) || first != at.Load() {
		t.Error("a histogram twice")
	}
}

// TestFullIsSeenWithoutLock: what clients invent when there is no room left does
// not wait for whoever holds the lock.
func TestFullIsSeenWithoutLock(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Limits: Limits{Paths: 1, Stages: 1, Counters: 1}})
	if err != nil {
		t.Fatal(err)
	}
	add := func(i int) {
		r.AddNumbers(Decision{Path: fmt.Sprint(i)}, []Number{{fmt.Sprintf("timer_%d_ns", i), 1}, {fmt.Sprintf("counter_%d", i), 1}})
	}
	add(1)
	add(2) // the histogram of stage Other too
	r.mu.Lock()
	defer r.mu.Unlock()
	add(3)
}

// TestCoveredFirst: what covers a stage is added before its duration, or a
// snapshot in between would show too much self time for ever. Here the adding
// ends in between.
func TestCoveredFirst(t *testing.T) {
	t.Parallel()
	total := func() *StageTotal {
		r, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.AddNumbers(Decision{}, []Number{{"timer_server_handler_ns", 100}, {"timer_rego_query_eval_ns", 70}})
		var s Snapshot
		r.Snapshot(&s)
		return &s.Stages[0]
	}()
	for name, add := range map[string]func(*durations){
		"a decision": func(c *durations) { c.record(100, 70) },
		"a merge":    func(c *durations) { _ = c.merge(total) },
	} {
		c := &durations{} // without a histogram
		func() {
			defer func() { _ = recover() }()
			add(c)
			t.Errorf("%s: no panic", name)
		}()
		if n := c.covered.Load(); n != 70 {
			t.Errorf("%s: %d ns are covered, want 70", name, n)
		}
	}
}
