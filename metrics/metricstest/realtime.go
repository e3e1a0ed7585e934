// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regometer/regometer/metrics"
)

// realTimeBehaviours are the rules that need the real clock, or several
// goroutines that run at the same time.
var realTimeBehaviours = []behaviour{
	{
		name: "timer clock",
		rule: "A timer measures the monotonic clock.",
		check: func(s *script) {
			timer := s.Timer("t")
			outer := time.Now()
			timer.Start()
			inner := time.Now()
			time.Sleep(time.Millisecond)
			least := time.Since(inner)
			got := timer.Stop()
			if most := time.Since(outer); got < int64(least) || got > int64(most) {
				s.Errorf("Stop returned %d ns, want %d to %d", got, least, most)
			}
		},
	},
	{
		name: "concurrent updates",
		rule: "No update is lost while other goroutines read, not even the first update of a new name. A timer holds the sum of the times that Stop returned.",
		check: func(s *script) {
			const goroutines, updates, names = 4, 2000, 20
			var stopped [names]atomic.Int64
			s.whileReading(func() {
				inParallel(goroutines, func(g int) {
					for i := range updates {
						name := strconv.Itoa(i % names)
						s.Timer(name).Start()
						s.Counter(name).Add(uint64(g))
						s.Counter(name).Incr()
						s.Histogram(name).Update(5)
						s.Histogram("full").Update(5)
						stopped[i%names].Add(s.Timer(name).Stop())
						s.Counter(fmt.Sprint("new", i)).Incr()
					}
				})
			})
			want := map[string]any{"histogram_full": int64(goroutines * updates)}
			for i := range stopped {
				want[fmt.Sprint("timer_", i, "_ns")] = stopped[i].Load()
				want[fmt.Sprint("counter_", i)] = uint64(updates / names * (0 + 1 + 2 + 3 + goroutines))
				want[fmt.Sprint("histogram_", i)] = int64(goroutines * updates / names)
			}
			for i := range updates {
				want[fmt.Sprint("counter_new", i)] = uint64(goroutines)
			}
			all := s.All()
			for key, w := range want {
				got := all[key]
				if summary, ok := got.(map[string]any); ok {
					got = summary["count"]
				}
				if got != w {
					s.Errorf("%s is %v, want %v", key, got, w)
				}
			}
		},
	},
	{
		name: "concurrent values",
		rule: "A histogram loses and changes none of its first 1,028 values, whichever goroutine records them.",
		check: func(s *script) {
			const goroutines = 4
			values := valueSequences()["scattered"]
			for range 20 {
				h := s.another().Histogram("h")
				inParallel(goroutines, func(g int) {
					for i := g; i < len(values); i += goroutines {
						h.Update(values[i])
						if i%200 == 0 {
							h.Value()
						}
					}
				})
				checkSummary(s.T, h.Value(), summarize(values), values)
			}
		},
	},
	{
		name: "concurrent clear",
		rule: "Goroutines may call Clear while others write and read.",
		check: func(s *script) {
			s.whileReading(func() {
				inParallel(3, func(g int) {
					for i := range 300 {
						if g == 0 {
							s.Clear()
							continue
						}
						s.Counter("new").Incr()
						s.Timer(strconv.Itoa(i)).Stop()
						s.Histogram("h").Update(5)
					}
				})
			})
			s.clear()
			s.check()
		},
	},
}

// whileReading runs f while other goroutines read all outputs. f must write
// only fives to histograms.
func (s *script) whileReading(f func()) {
	read := func() {
		s.checkFives(s.All())
		for name, b := range s.jsonTexts() {
			if !json.Valid(b) {
				s.Errorf("invalid JSON from %s: %.500s", name, b)
			}
		}
		if stringer, ok := s.unwrap().(fmt.Stringer); ok {
			_ = stringer.String()
		}
		if tm, ok := s.unwrap().(metrics.TimerMetrics); ok {
			tm.Timers()
		}
	}
	var done atomic.Bool
	var once, readers sync.WaitGroup
	for range 3 {
		once.Add(1)
		readers.Go(func() {
			read()
			once.Done()
			for !done.Load() {
				read()
			}
		})
	}
	f()
	once.Wait()
	done.Store(true)
	readers.Wait()
}

// checkFives checks that each histogram in all is a complete summary of fives.
func (s *script) checkFives(all map[string]any) {
	for key, value := range all {
		h, ok := value.(map[string]any)
		if !ok {
			continue
		}
		n, _ := h["count"].(int64)
		want := summarize(slices.Repeat([]int64{5}, int(min(n, 1))))
		want["count"] = n
		if err := summaryError(h, want); err != nil {
			s.Errorf("%s is not a summary of fives: %v: %v", key, err, h)
		}
	}
}

// inParallel runs f in n goroutines, which start together, and waits for them.
func inParallel(n int, f func(g int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for g := range n {
		wg.Go(func() {
			<-start
			f(g)
		})
	}
	close(start)
	wg.Wait()
}
