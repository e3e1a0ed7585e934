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
		a := r.label(k, "a")
		if again := r.label(k, "a"); again != a || a.column != before {
			t.Errorf("a stage or counter twice: %+v and %+v", a, again)
		}
		r.label(k, "b")
		if c := r.label(k, "c"); c != l.noRoom {
			t.Errorf("one more than there is room for: %+v", c)
		}
		if names := l.list()[before:]; !slices.Equal(names, []string{"a", "b"}) {
			t.Errorf("names %q", names)
		}
	}

	a, _ := r.newRow("a")
	if again, overflow := r.newRow("a"); again != a || overflow {
		t.Error("a path twice")
	}
	r.newRow("b")
	if row, overflow := r.newRow("c"); row != r.other || !overflow {
		t.Errorf("one more path than there is room for: %+v", row)
	}
	if labels := r.Labels(); !slices.Equal(labels, []string{"a", "b"}) {
		t.Errorf("paths %q", labels)
	}

	var at atomic.Pointer[cell]
	if first := r.newCell(&at); first != r.newCell(&at) || first != at.Load() {
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
	for name, add := range map[string]func(*cell){
		"a decision": func(c *cell) { c.record(100, 70) },
		"a merge":    func(c *cell) { _ = c.merge(total) },
	} {
		c := &cell{} // without a histogram
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
