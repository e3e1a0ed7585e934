// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/regometer/regometer/internal/stages"
)

// TestFasterGoroutine gives what was looked up in vain, as a goroutine does
// that another one has overtaken since: it takes what is there by now, and
// nothing beyond the limits.
func TestFasterGoroutine(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Limits: Limits{Paths: 2, Stages: 2, Counters: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []stages.Kind{stages.Timer, stages.Counter} {
		l := r.catalog.labels(k)
		before := len(l.list())
		a := r.addName(k, "a")
		if again := r.addName(k, "a"); again != a || a.Column != before {
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

// TestLastLabelIsFound looks for what another goroutine has just given the last
// label: it has one, though there is no room any more.
func TestLastLabelIsFound(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Limits: Limits{Paths: 1, Stages: 1, Counters: 1}})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := r.addPath("a")
	if row, overflow := r.admitPath("a"); row != a || overflow {
		t.Errorf("the last path: row %q, overflow %t", row.label, overflow)
	}
	for _, k := range []stages.Kind{stages.Timer, stages.Counter} {
		m := r.addName(k, "a")
		if again := r.admitName(stages.KeyOf(k, "a")); again != m {
			t.Errorf("the last stage or counter: %+v, want %+v", again, m)
		}
	}
}

// TestLabelsAreGivenUnderTheLock: who has the lock sees nothing new.
func TestLabelsAreGivenUnderTheLock(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Limits: Limits{Paths: 9, Stages: 9, Counters: 9}})
	if err != nil {
		t.Fatal(err)
	}
	var at atomic.Pointer[durations]
	for name, test := range map[string]struct {
		give  func()
		given func() bool
	}{
		"path":      {func() { r.Admit("p") }, func() bool { return r.byLabel.get("p") != nil }},
		"stage":     {func() { r.admitName("timer_s_ns") }, func() bool { return r.catalog.byKey.get("timer_s_ns") != nil }},
		"counter":   {func() { r.admitName("counter_c") }, func() bool { return r.catalog.byKey.get("counter_c") != nil }},
		"durations": {func() { r.durationsAt(&at) }, func() bool { return at.Load() != nil }},
	} {
		var wg sync.WaitGroup
		started := make(chan struct{})
		r.mu.Lock()
		wg.Go(func() {
			close(started)
			test.give()
		})
		<-started
		for range 100 {
			runtime.Gosched()
		}
		if test.given() {
			t.Errorf("%s: there while another goroutine had the lock", name)
		}
		r.mu.Unlock()
		wg.Wait()
		if !test.given() {
			t.Errorf("%s: not there", name)
		}
	}
}

// TestFirstAppearance lets two goroutines meet each path, stage and counter at
// once, of which there are as many as get a label.
func TestFirstAppearance(t *testing.T) {
	t.Parallel()
	const rounds, each = 50, 8
	for range rounds {
		r, err := New(Options{Limits: Limits{Paths: each, Stages: each, Counters: each}})
		if err != nil {
			t.Fatal(err)
		}
		done := atOnce(each, func(_, i int) {
			r.AddNumbers(Decision{Path: fmt.Sprint("p", i)}, []Number{
				{fmt.Sprint("counter_c", i), 1}, {fmt.Sprintf("timer_s%d_ns", i), 1}, {"timer_server_handler_ns", 1},
			})
		})
		if done < each {
			return
		}
		var s Snapshot
		r.Snapshot(&s)
		if s.Overflow != (Overflow{}) || len(s.Paths) != each || len(s.Stages) != each+1 || len(s.Counters) != each {
			t.Fatalf("%d paths, %d stages, %d counters, overflow %+v", len(s.Paths), len(s.Stages), len(s.Counters), s.Overflow)
		}
		for i := range s.Paths {
			p := &s.Paths[i]
			if p.Outcomes[Allowed] != 2 || len(p.Stages) != 1 || p.Stages[0].Histogram.Count() != 2 {
				t.Fatalf("path %q: %d decisions, stages %+v", p.Label, p.Outcomes[Allowed], p.Stages)
			}
		}
		for i := range s.Stages {
			want := uint64(2)
			if s.Stages[i].Stage == handler {
				want = 2 * each
			}
			if n := s.Stages[i].Histogram.Count(); n != want {
				t.Fatalf("stage %q: %d durations, want %d", s.Stages[i].Stage, n, want)
			}
		}
		for _, c := range s.Counters {
			if c.Total != 2 {
				t.Fatalf("counter %q: %d, want 2", c.Counter, c.Total)
			}
		}
	}
}

// TestLastLabelAtOnce lets two goroutines meet the path, stage and counter at
// once that take the last label.
func TestLastLabelAtOnce(t *testing.T) {
	t.Parallel()
	const rounds = 3000
	r, err := New(Options{Limits: Limits{Paths: 1, Stages: rounds, Counters: rounds}})
	if err != nil {
		t.Fatal(err)
	}
	timers, counters := &r.catalog.stages, &r.catalog.counters
	timers.limit, counters.limit = len(timers.list())+1, len(counters.list())+1
	var got [rounds][2]struct {
		row      *row
		overflow bool
		stage    *stages.Metric
		counter  *stages.Metric
	}
	done := atOnce(rounds, func(g, i int) {
		x := &got[i][g]
		x.row, x.overflow = r.rowOf(fmt.Sprint("p", i))
		x.stage, x.counter = r.metricOf(stages.Timer, fmt.Sprint("s", i)), r.metricOf(stages.Counter, fmt.Sprint("c", i))
	}, func() { // room for one more
		r.limits.Paths++
		timers.limit++
		counters.limit++
	})
	for i := range done {
		a, b := &got[i][0], &got[i][1]
		if *a != *b || a.overflow || a.stage.Overflows || a.counter.Overflows {
			t.Fatalf("round %d: %+v and %+v", i, *a, *b)
		}
	}
}

// TestLabelsAreInTheirTableFirst: nobody who sees that there is a label looks
// for it in vain.
func TestLabelsAreInTheirTableFirst(t *testing.T) {
	t.Parallel()
	const each = 3000
	r, err := New(Options{Limits: Limits{Paths: each, Stages: each, Counters: each}})
	if err != nil {
		t.Fatal(err)
	}
	var adding sync.WaitGroup
	adding.Go(func() {
		for i := range each {
			name := fmt.Sprint("x", i)
			r.Admit(name)
			r.metricOf(stages.Timer, name)
			r.metricOf(stages.Counter, name)
		}
	})
	c := r.catalog
	for done := false; !done; {
		rows, timers, counters := *r.rows.Load(), c.stages.list(), c.counters.list()
		if label := rows[len(rows)-1].label; r.byLabel.get(label) == nil {
			t.Errorf("path %q is not in its table", label)
		}
		if name := timers[len(timers)-1]; c.byKey.get(stages.KeyOf(stages.Timer, name)) == nil {
			t.Errorf("stage %q is not in its table", name)
		}
		if name := counters[len(counters)-1]; c.byKey.get(stages.KeyOf(stages.Counter, name)) == nil {
			t.Errorf("counter %q is not in its table", name)
		}
		done = len(rows) > each && c.stages.full() && c.counters.full()
	}
	adding.Wait()
}

// atOnce has two goroutines do the same in each round, as much at once as can
// be; one of them calls prepare before. It returns how many rounds there were:
// fewer where the machine is too busy to run both.
func atOnce(rounds int, do func(goroutine, round int), prepare ...func()) (done int) {
	var turns [2]atomic.Int64
	meet := func(g int) {
		turn := turns[g].Add(1)
		for spin := 1; turns[1-g].Load() < turn; spin++ {
			if spin%100 == 0 {
				runtime.Gosched()
			}
		}
	}
	start, stop := time.Now(), false
	var both sync.WaitGroup
	for g := range turns {
		both.Go(func() {
			for i := range rounds {
				meet(g)
				if g == 0 {
					stop = time.Since(start) > time.Second
					for _, f := range prepare {
						f()
					}
				}
				meet(g)
				if stop {
					return
				}
				do(g, i)
				if g == 0 {
					done++
				}
			}
		})
	}
	both.Wait()
	return done
}

// TestFullIsSeenWithoutLock: what clients invent when there is no room left
// does not wait for whoever holds the lock.
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
