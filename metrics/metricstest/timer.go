// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regometer/regometer/metrics"
)

var timerBehaviours = []behaviour{
	{
		name:        "timer",
		rule:        "Stop adds the time since Start to what the timer holds, and returns it, in nanoseconds. Value is Int64 as an any.",
		virtualTime: true,
		check: func(t *testing.T, newCollection func() collection) {
			tm := newCollection().Timer("t")
			checkTimer(t, tm, 0)
			var sum int64
			for _, ns := range []int64{1, 255, 256, 1000, 0, 1_000_000_007, int64(time.Hour), int64(400 * 24 * time.Hour)} {
				tm.Start()
				sleep(ns)
				if d := tm.Stop(); d != ns {
					t.Errorf("Stop returned %d after %d ns", d, ns)
				}
				sum += ns
				sleep(3) // time between Stop and Start does not count
				checkTimer(t, tm, sum)
			}
		},
	},
	{
		name:        "timer restart",
		rule:        "Start on a running timer starts it again: the time before that is dropped.",
		virtualTime: true,
		check: func(t *testing.T, newCollection func() collection) {
			tm := newCollection().Timer("t")
			tm.Start()
			sleep(100)
			tm.Start()
			sleep(7)
			if d := tm.Stop(); d != 7 {
				t.Errorf("Stop returned %d, 7 ns after the second Start", d)
			}
			checkTimer(t, tm, 7)
		},
	},
	{
		name:        "timer stop",
		rule:        "Stop on a timer that is not running returns 0 and changes nothing.",
		virtualTime: true,
		check: func(t *testing.T, newCollection func() collection) {
			tm := newCollection().Timer("t")
			for range 2 {
				sleep(5)
				if d := tm.Stop(); d != 0 {
					t.Errorf("Stop without Start returned %d", d)
				}
			}
			tm.Start()
			sleep(9)
			tm.Stop()
			sleep(5)
			if d := tm.Stop(); d != 0 {
				t.Errorf("a second Stop returned %d", d)
			}
			checkTimer(t, tm, 9)
			// A measurement of no length ends the run too.
			tm.Start()
			tm.Stop()
			sleep(5)
			if d := tm.Stop(); d != 0 {
				t.Errorf("Stop after a measurement of 0 ns returned %d", d)
			}
			checkTimer(t, tm, 9)
		},
	},
	{
		name:        "timer running",
		rule:        "A running timer reports only what earlier calls of Stop have added.",
		virtualTime: true,
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			tm := m.Timer("t")
			tm.Start()
			sleep(50)
			checkTimer(t, tm, 0)
			if got := m.All()["timer_t_ns"]; got != int64(0) {
				t.Errorf("All reports %v for a running timer, want 0", got)
			}
			sleep(50)
			if d := tm.Stop(); d != 100 {
				t.Errorf("Stop returned %d after 100 ns and a look at the timer", d)
			}
			tm.Start()
			sleep(50)
			checkTimer(t, tm, 100)
			if got := m.All()["timer_t_ns"]; got != int64(100) {
				t.Errorf("All reports %v for a running timer, want 100", got)
			}
		},
	},
	{
		name:        "timer goroutines",
		rule:        "One goroutine may start a timer and another stop it.",
		virtualTime: true,
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			m.Timer("t").Start()
			sleep(11)
			var wg sync.WaitGroup
			wg.Go(func() {
				if d := m.Timer("t").Stop(); d != 11 {
					t.Errorf("Stop returned %d after 11 ns", d)
				}
			})
			wg.Wait()
			checkTimer(t, m.Timer("t"), 11)
		},
	},
	{
		name: "timer clock",
		rule: "Outside of a bubble, a timer measures the monotonic clock.",
		check: func(t *testing.T, newCollection func() collection) {
			tm := newCollection().Timer("t")
			outer := time.Now()
			tm.Start()
			inner := time.Now()
			time.Sleep(time.Millisecond)
			atLeast := time.Since(inner)
			d := tm.Stop()
			if atMost := time.Since(outer); d < int64(atLeast) || d > int64(atMost) {
				t.Errorf("Stop returned %d ns, between %d and %d have passed", d, atLeast, atMost)
			}
			checkTimer(t, tm, d)
		},
	},
	{
		name: "timer overflow",
		rule: "The accumulated time wraps around, as int64 does.",
		check: func(t *testing.T, newCollection func() collection) {
			// A bubble's clock starts in the year 2000 and ends in 2262.
			const years = 250 * 365 * 24 * time.Hour
			m := newCollection()
			var want int64
			for range 3 {
				synctest.Test(t, func(t *testing.T) {
					m.Timer("t").Start()
					time.Sleep(years)
					if d := m.Timer("t").Stop(); d != int64(years) {
						t.Errorf("Stop returned %d after %d ns", d, int64(years))
					}
				})
				want += int64(years)
			}
			checkTimer(t, m.Timer("t"), want)
			if got := m.All()["timer_t_ns"]; got != want {
				t.Errorf("All reports %v, want %d", got, want)
			}
		},
	},
	{
		name:        "timers",
		rule:        "Timers returns the timers alone, in a new map that is never nil, as All does.",
		virtualTime: true,
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			tm, ok := m.unwrap().(metrics.TimerMetrics)
			if !ok {
				t.Skip("no Timers method")
			}
			m.Counter("c").Incr()
			m.Histogram("h").Update(1)
			if timers := tm.Timers(); timers == nil || len(timers) != 0 {
				t.Errorf("Timers is %#v, want an empty map", timers)
			}
			m.Timer("a").Start()
			sleep(4)
			m.Timer("a").Stop()
			m.Timer("b")
			timers := tm.Timers()
			if len(timers) != 2 || timers["timer_a_ns"] != int64(4) || timers["timer_b_ns"] != int64(0) {
				t.Errorf("Timers is %v, want timer_a_ns:4 and timer_b_ns:0, both int64", timers)
			}
		},
	},
}

func sleep(ns int64) { time.Sleep(time.Duration(ns)) }

// checkTimer checks what tm has accumulated.
func checkTimer(t *testing.T, tm metrics.Timer, want int64) {
	t.Helper()
	if got := tm.Int64(); got != want {
		t.Errorf("Int64 is %d, want %d", got, want)
	}
	if got := tm.Value(); got != want {
		t.Errorf("Value is %T %v, want int64 %d", got, got, want)
	}
}
