// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/regometer/regometer/metrics"
)

var concurrencyBehaviours = []behaviour{
	{
		name: "concurrent look-ups",
		rule: "Goroutines that look a new name up at the same time get the same handle.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			const goroutines, names = 4, 200
			handles := make([][]any, goroutines)
			inParallel(goroutines, func(g int) {
				for i := range names {
					for _, k := range handleKinds {
						handles[g] = append(handles[g], k.lookUp(m, strconv.Itoa(i)))
					}
				}
			})
			for g := range handles {
				for i := range handles[g] {
					if handles[g][i] != handles[0][i] {
						t.Fatalf("goroutines have different handles of the %s %d", handleKinds[i%3].name, i/3)
					}
				}
			}
			if n := len(m.All()); n != 3*names {
				t.Errorf("All has %d entries, want %d", n, 3*names)
			}
		},
	},
	{
		name: "concurrent updates",
		rule: "No update is lost: counters count all, histograms too, and a timer holds the sum of what Stop returned.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			const goroutines, n = 4, 300
			stopped := make([]int64, goroutines)
			inParallel(goroutines, func(g int) {
				for i := range n {
					m.Timer("t").Start()
					m.Counter("c").Incr()
					m.Counter("c").Add(2)
					m.Histogram("small").Update(int64(g))
					if i < sampleSize/goroutines {
						m.Histogram("exact").Update(int64(g*1000 + i))
					}
					for range 10 {
						m.Histogram("large").Update(int64(i))
					}
					stopped[g] += m.Timer("t").Stop()
				}
			})
			if v := m.Counter("c").Value(); v != uint64(3*goroutines*n) {
				t.Errorf("the counter is %v, want %d", v, 3*goroutines*n)
			}
			if v := count(m.Histogram("small")); v != goroutines*n {
				t.Errorf("the small histogram has %v values, want %d", v, goroutines*n)
			}
			if v := count(m.Histogram("large")); v != 10*goroutines*n {
				t.Errorf("the large histogram has %v values, want %d", v, 10*goroutines*n)
			}
			var exact []int64
			var sum int64
			for g := range goroutines {
				sum += stopped[g]
				for i := range sampleSize / goroutines {
					exact = append(exact, int64(g*1000+i))
				}
			}
			checkSummary(t, m.Histogram("exact").Value(), exact...)
			checkTimer(t, m.Timer("t"), sum)
		},
	},
	{
		name: "concurrent reads",
		rule: "Every method may be called while others write; what it returns is whole at all times, and its JSON is valid.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			const writers, n = 2, 1500
			done := make(chan struct{})
			var readers sync.WaitGroup
			for range 2 {
				readers.Go(func() {
					var last uint64
					for {
						select {
						case <-done:
							return
						default:
						}
						last = checkWhole(t, m, last)
					}
				})
			}
			inParallel(writers, func(g int) {
				for i := range n {
					m.Histogram("h").Update(5)
					m.Counter("c").Incr()
					m.Timer("t").Start()
					m.Timer("t").Stop()
					if i%10 == 0 {
						m.Counter(fmt.Sprint("new", g, i)).Incr()
					}
				}
			})
			close(done)
			readers.Wait()
			checkWhole(t, m, 0)
		},
	},
	{
		name: "concurrent clear",
		rule: "Clear may be called while others write and read.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			inParallel(3, func(g int) {
				for i := range 300 {
					if g == 0 {
						m.Clear()
						continue
					}
					m.Counter("c").Incr()
					m.Timer(strconv.Itoa(i)).Stop()
					m.Histogram("h").Update(5)
					checkWhole(t, m, 0)
				}
			})
			m.Clear()
			checkEmpty(t, m)
		},
	},
}

// checkWhole checks what can be said of a collection that others are writing
// to: a counter c that only grows, at least from the value least, and a
// histogram h to which only fives are written. It returns c.
func checkWhole(t *testing.T, m collection, least uint64) uint64 {
	t.Helper()
	all := m.All()
	c, _ := all["counter_c"].(uint64)
	if c < least {
		t.Errorf("the counter went back from %d to %d", least, c)
	}
	if h, ok := all["histogram_h"]; ok {
		v, _ := h.(map[string]any)
		n, _ := v["count"].(int64)
		want := summary(n, 5, 5, 5, 0, 5, 5, 5, 5, 5, 5, 5)
		if n == 0 {
			want = summarize(nil)
		}
		if err := summaryError(h, want); err != nil {
			t.Errorf("a histogram of fives: %v\nin %v", err, h)
		}
	}
	if b := marshal(t, m); !json.Valid(b) {
		t.Errorf("invalid JSON: %s", limited(string(b)))
	}
	if s, ok := m.unwrap().(fmt.Stringer); ok {
		_ = s.String()
	}
	if tm, ok := m.unwrap().(metrics.TimerMetrics); ok {
		tm.Timers()
	}
	return c
}

func count(h metrics.Histogram) int64 {
	return h.Value().(map[string]any)["count"].(int64)
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
