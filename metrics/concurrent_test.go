// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/regometer/regometer/metrics"
)

// goroutines is how many goroutines the tests below start.
const goroutines = 4

// inParallel runs f in all goroutines at the same time, and waits for them.
func inParallel(f func(g int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			<-start
			f(g)
		})
	}
	close(start)
	wg.Wait()
}

// whileReading runs f while other goroutines call every method that reads.
func whileReading(t *testing.T, m metrics.Metrics, f func()) {
	var done atomic.Bool
	var readers sync.WaitGroup
	var once sync.WaitGroup // every reader has been round once
	for _, read := range []func(){
		func() { checkWhole(t, m.All()) },
		func() {
			b, err := m.MarshalJSON()
			if err != nil || !json.Valid(b) {
				t.Errorf("invalid JSON (error %v): %.500s", err, b)
			}
		},
		func() {
			var buffer []byte
			for range 3 {
				b, err := metrics.AppendJSON(buffer[:0], m)
				if err != nil || !json.Valid(b) {
					t.Errorf("invalid JSON (error %v): %.500s", err, b)
				}
				buffer = b
			}
		},
		func() {
			all := map[string]any{}
			for metric := range metrics.Each(m) {
				if _, twice := all[metric.Key()]; twice {
					t.Errorf("Each yields %q twice", metric.Key())
				}
				all[metric.Key()] = metric.Value()
			}
			checkWhole(t, all)
		},
		func() {
			_ = m.(fmt.Stringer).String()
			m.(metrics.TimerMetrics).Timers()
		},
	} {
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

// checkWhole checks what All returned while others write fives, and nothing
// else, to all histograms: that each summary belongs together.
func checkWhole(t *testing.T, all map[string]any) {
	t.Helper()
	for key, v := range all {
		h, ok := v.(map[string]any)
		if !ok {
			continue
		}
		n := h["count"].(int64)
		for field, v := range h {
			var want any
			switch {
			case field == "count":
				continue
			case field == "stddev":
				want = 0.0
			case field == "min" || field == "max":
				want = min(n, 1) * 5
			default:
				want = float64(min(n, 1) * 5)
			}
			if v != want {
				t.Errorf("%s: %s is %v, want %v in %v", key, field, v, want, h)
			}
		}
	}
}

// TestConcurrentUpdates: no update is lost while reservoirs fill and overflow
// and all of it is read.
func TestConcurrentUpdates(t *testing.T) {
	const n, names = 2000, 20
	m := metrics.New()
	var stopped [names]atomic.Int64
	whileReading(t, m, func() {
		inParallel(func(g int) {
			for i := range n {
				k := i % names
				name := "name " + strconv.Itoa(k)
				m.Timer(name).Start()
				m.Counter(name).Add(uint64(g))
				m.Counter(name).Incr()
				m.Histogram(name).Update(5) // 400 updates: fills
				m.Histogram("full").Update(5)
				stopped[k].Add(m.Timer(name).Stop())
			}
		})
	})
	for k := range names {
		name := "name " + strconv.Itoa(k)
		want := uint64(n / names * (goroutines + goroutines*(goroutines-1)/2))
		if got := m.Counter(name).Value(); got != want {
			t.Errorf("counter %q is %v, want %d", name, got, want)
		}
		if got, want := m.Timer(name).Int64(), stopped[k].Load(); got != want {
			t.Errorf("timer %q is %d, the calls of Stop returned %d", name, got, want)
		}
		if got, want := count(m.Histogram(name)), int64(goroutines*n/names); got != want {
			t.Errorf("histogram %q has %d values, want %d", name, got, want)
		}
	}
	if got, want := count(m.Histogram("full")), int64(goroutines*n); got != want {
		t.Errorf("the full histogram has %d values, want %d", got, want)
	}
	checkJSON(t, m)
}

func count(h metrics.Histogram) int64 {
	return h.Value().(map[string]any)["count"].(int64)
}

// rounds is how often a loop runs that has to hit a window of nanoseconds. It
// takes so long that the goroutines do run at the same time.
const rounds = 300_000

// TestConcurrentCounts: no count is lost when all that goroutines do is count.
func TestConcurrentCounts(t *testing.T) {
	m := metrics.New()
	c, h := m.Counter("c"), m.Histogram("h")
	inParallel(func(int) {
		for range 4 * rounds {
			c.Incr()
		}
		for range 4 * rounds {
			c.Add(2)
		}
		for range rounds {
			h.Update(5)
		}
	})
	if got := c.Value(); got != uint64(12*goroutines*rounds) {
		t.Errorf("the counter is %v, want %d", got, 12*goroutines*rounds)
	}
	if got := count(h); got != goroutines*rounds {
		t.Errorf("the histogram has %d values, want %d", got, goroutines*rounds)
	}
}

// TestConcurrentValues: up to 1,028 values, none is lost or changed, whatever
// goroutine it comes from.
func TestConcurrentValues(t *testing.T) {
	const n = 257 // of each goroutine: together they fill the reservoir
	for range 20 {
		h := metrics.New().Histogram("h")
		inParallel(func(g int) {
			for i := range n {
				h.Update(int64(i*goroutines + g))
				if i%50 == 0 {
					h.Value()
				}
			}
		})
		// Each number from 0 to 1,027 once.
		v := h.Value().(map[string]any)
		for field, want := range map[string]any{
			"count": int64(1028), "min": int64(0), "max": int64(1027), "mean": 513.5, "median": 513.5, "75%": 770.75,
		} {
			if v[field] != want {
				t.Fatalf("%s is %v, want %v in %v", field, v[field], want, v)
			}
		}
	}
}

// TestConcurrentCollections: collections share names and buffers, and nothing
// else.
func TestConcurrentCollections(t *testing.T) {
	inParallel(func(g int) {
		for i := range 200 {
			m := metrics.New()
			name := "shared " + strconv.Itoa(i)
			m.Counter(name).Add(uint64(g))
			m.Timer(name)
			m.Histogram(name).Update(int64(g))
			want := fmt.Sprintf(`{"counter_%[1]s":%[2]d,"histogram_%[1]s":{"75%%":%[2]d,"90%%":%[2]d,"95%%":%[2]d,"99%%":%[2]d,"99.9%%":%[2]d,"99.99%%":%[2]d,`+
				`"count":1,"max":%[2]d,"mean":%[2]d,"median":%[2]d,"min":%[2]d,"stddev":0},"timer_%[1]s_ns":0}`, name, g)
			for range 3 {
				if b, err := m.MarshalJSON(); err != nil || string(b) != want {
					t.Errorf("JSON is (error %v)\n%s\nwant\n%s", err, b, want)
				}
			}
		}
	})
}
