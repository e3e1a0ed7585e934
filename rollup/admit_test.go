// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regometer/regometer/exphist"
)

// TestFasterGoroutine continues as a goroutine does that looked in vain, after
// another one has made the row or the histogram, or has taken the last room.
func TestFasterGoroutine(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Paths: 2})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := r.addRow("a")
	b, _ := r.addRow("b")
	for i, f := range []func(string) (*row, bool){r.addRow, r.admit, r.rowOf} {
		for path, want := range map[string]*row{"a": a, "b": b, "c": r.other} {
			if got, fits := f(path); got != want || fits != (want != r.other) {
				t.Errorf("function %d: path %q has the row of %q, fits: %t", i, path, got.label, fits)
			}
		}
	}
	if labels := r.Labels(); !slices.Equal(labels, []string{"a", "b"}) {
		t.Errorf("the labels are %q, want a and b", labels)
	}

	var at atomic.Pointer[durations]
	if first := r.newDurations(&at); first != r.newDurations(&at) || first != at.Load() {
		t.Error("a stage has two histograms")
	}
}

// TestRowsAreInTheirTableFirst checks that a goroutine finds each path that
// takes room.
func TestRowsAreInTheirTableFirst(t *testing.T) {
	t.Parallel()
	const paths = 3000
	r, err := New(Options{Paths: paths})
	if err != nil {
		t.Fatal(err)
	}
	var adding sync.WaitGroup
	adding.Go(func() {
		for i := range paths {
			r.Admit(fmt.Sprint("x", i))
		}
	})
	for done := false; !done; {
		rows := *r.rows.Load()
		if label := rows[len(rows)-1].label; r.byLabel.get(label) == nil {
			t.Errorf("path %q is not in its table", label)
		}
		done = r.full()
	}
	adding.Wait()
}

// TestFullIsSeenWithoutLock checks that paths that clients invent do not wait
// for the lock if there is no room.
func TestFullIsSeenWithoutLock(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Paths: 1})
	if err != nil {
		t.Fatal(err)
	}
	add := func(i int) {
		r.Add(Decision{Path: fmt.Sprint(i), Numbers: []Number{{fmt.Sprintf("timer_%d_ns", i), 1}, {fmt.Sprintf("counter_%d", i), 1}}})
	}
	add(1)
	add(2)
	r.mu.Lock()
	defer r.mu.Unlock()
	add(3)
}

// TestCoveredFirst checks that the covered time is added before the duration. A
// snapshot in between would otherwise show too much self time for ever. Here
// adding ends in between.
func TestCoveredFirst(t *testing.T) {
	t.Parallel()
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Add(Decision{Numbers: []Number{{"timer_server_handler_ns", 100}, {"timer_rego_query_eval_ns", 70}}})
	var s Snapshot
	r.Snapshot(&s)
	for name, add := range map[string]func(*durations){
		"a decision": func(c *durations) { c.record(100, 70) },
		"a merge":    func(c *durations) { c.merge(&s.Stages[0]) },
	} {
		c := &durations{} // without a histogram
		func() {
			defer func() { _ = recover() }()
			add(c)
			t.Errorf("%s: adding does not panic", name)
		}()
		if n := c.covered.Load(); n != 70 {
			t.Errorf("%s: %d ns are covered, want 70", name, n)
		}
	}
}

// TestSelfTimeMeanwhile takes snapshots between the steps in which a decision
// is added, and more than fits.
func TestSelfTimeMeanwhile(t *testing.T) {
	t.Parallel()
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Add(Decision{Numbers: []Number{{"timer_server_handler_ns", 100}, {"timer_rego_query_eval_ns", 70}}})
	d := r.stages[r.metrics.find("timer_server_handler_ns").Column].Load()
	for i, step := range []struct {
		add  func()
		want uint64
	}{
		{func() {}, 30},
		{func() { d.covered.Add(60) }, 30}, // 40 less than before
		{func() { d.histogram.Record(80) }, 50},
		{func() { d.histogram.Record(1<<63 - 1) }, 1<<63 - 1 + 50},
		{func() { d.histogram.Record(1<<63 - 1) }, 1<<64 - 1},
	} {
		step.add()
		var s Snapshot
		if r.Snapshot(&s); s.Stages[0].Self != step.want {
			t.Errorf("step %d: the self time is %d, want %d", i, s.Stages[0].Self, step.want)
		}
	}
}

// atOnce calls f in two goroutines, in each round as close together as it can.
// It ends after a second, and returns the number of rounds.
func atOnce(rounds int, f func(goroutine, round int)) int {
	var end atomic.Int64
	end.Store(int64(rounds))
	var turns [2]atomic.Int64
	start := time.Now()
	var both sync.WaitGroup
	for g := range turns {
		both.Go(func() {
			for i := int64(0); ; i++ {
				if i >= end.Load() { // which the other goroutine may have lowered
					return
				}
				if g == 0 && time.Since(start) > time.Second {
					end.Store(i + 1)
				}
				turns[g].Store(i + 1)
				for spin := 1; turns[1-g].Load() <= i; spin++ {
					if spin%100 == 0 {
						runtime.Gosched()
					}
				}
				f(g, int(i))
			}
		})
	}
	both.Wait()
	return int(end.Load())
}

// TestSelfTimeAtOnce checks that after two snapshots at once, a later one shows
// the larger self time.
func TestSelfTimeAtOnce(t *testing.T) {
	t.Parallel()
	var snapshots [2]exphist.Snapshot
	h := exphist.New(exphist.Layout{Unit: exphist.Nanosecond})
	for i := range snapshots {
		h.Record(25)
		h.Snapshot(&snapshots[i])
	}
	all := make([]durations, 300_000)
	done := atOnce(len(all), func(g, i int) { all[i].selfTime(&snapshots[g]) })
	for i := range all[:done] {
		if n := all[i].self.Load(); n != 50 {
			t.Fatalf("the self time is %d, want 50", n)
		}
	}
}

// TestTableOfVeryManyKeys checks that a table takes little memory before it has
// keys, and finds them.
func TestTableOfVeryManyKeys(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Paths: 1 << 24})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.byLabel.buckets); n > 1<<16 {
		t.Errorf("the table has %d buckets", n)
	}
	if !r.Admit("p") || r.byLabel.get("p") == nil {
		t.Error("the table does not find its key")
	}
}

// TestAdmitAtOnce checks that goroutines that add rows at the same time lose
// none of them, and take no more room than there is.
func TestAdmitAtOnce(t *testing.T) {
	t.Parallel()
	const paths, goroutines = 200, 8
	for range 50 {
		r, err := New(Options{Paths: paths})
		if err != nil {
			t.Fatal(err)
		}
		var adding sync.WaitGroup
		for range goroutines {
			adding.Go(func() {
				for i := range 2 * paths {
					r.Admit(strconv.Itoa(i))
				}
			})
		}
		adding.Wait()
		if got := len(*r.rows.Load()); got != paths+1 { // and other
			t.Fatalf("%d paths have %d rows", paths, got-1)
		}
		for _, row := range (*r.rows.Load())[1:] {
			if r.byLabel.get(row.label) != row {
				t.Fatalf("path %s has two rows", row.label)
			}
		}
	}
}
