// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// What a flood of invented paths and inputs may do to a server. The heap and
// the resident memory are compared with those after a warm-up by the same
// clients. An answer within 10 s, the client's patience, is required of every
// request.
const (
	maxSeries       = 2500      // of a text scrape
	maxStoredSeries = 700       // in Prometheus: a native histogram is one of them
	maxHeapGrowth   = 8 << 20   // bytes in use after a garbage collection
	maxRSSGrowth    = 128 << 20 // bytes
	maxMedian       = 100 * time.Millisecond
	maxScrape       = 5 * time.Second
)

// TestFlood: clients invent 100,000 paths, and inputs, for a minute. Memory,
// series and latency stay within bounds, and nothing goes uncounted.
func TestFlood(t *testing.T) {
	endToEnd(t)
	inventedPaths, duration := long(100_000, 10_000), long(time.Minute, 5*time.Second)
	config := startControl(t).config(nil)
	delete(config, "decision_logs")
	s := startOPA(t, "flooded", config)
	m := startMonitor(t, map[string]string{"flooded": s.address}, monitorOptions{interval: maxScrape})

	f := &flood{server: s}
	f.run(t, inventedPaths/20, time.Second) // to warm up
	before := s.usage(t)
	f.run(t, inventedPaths, duration)
	after := s.usage(t)
	settled := m.awaitScrapes(t)

	slices.Sort(f.latencies)
	median, most := f.latencies[len(f.latencies)/2], f.latencies[len(f.latencies)-1]
	series := checkSeriesGauge(t, s.name, ourFamilies(string(s.get(t, "/metrics"))))
	stored := int(m.number(t, `count({__name__=~"(opa_decision|regometer).*"})`, settled))
	slowest := time.Duration(m.number(t, "max_over_time(scrape_duration_seconds[1h])", settled) * float64(time.Second))
	t.Logf("%d decisions, %d invented paths: %d series by text, %d stored; heap %d to %d kB, resident %d to %d kB; half of the answers within %v, all within %v; scrapes within %v",
		len(f.latencies), f.paths, series, stored, before.heap>>10, after.heap>>10, before.rss>>10, after.rss>>10, median, most, slowest)

	if got := int(m.number(t, "sum(opa_decisions_total)", settled)); got != len(f.latencies) {
		t.Errorf("%d decisions are counted, %d were made", got, len(f.latencies))
	}
	if got := int(m.number(t, `sum(opa_decisions_total{path="other"})`, settled)); got != f.paths {
		t.Errorf("%d decisions have the path other, want %d", got, f.paths)
	}
	if series > maxSeries || stored > maxStoredSeries {
		t.Errorf("%d series by text and %d stored, want at most %d and %d", series, stored, maxSeries, maxStoredSeries)
	}
	if after.heap > before.heap+maxHeapGrowth || after.rss > before.rss+maxRSSGrowth {
		t.Errorf("heap grew from %d to %d bytes, resident memory from %d to %d, want at most %d and %d more",
			before.heap, after.heap, before.rss, after.rss, maxHeapGrowth, maxRSSGrowth)
	}
	if median > maxMedian {
		t.Errorf("half of the answers took %v or longer, want at most %v", median, maxMedian)
	}
	if n := m.number(t, "min_over_time(up[1h])", settled); n != 1 {
		t.Errorf("a scrape took longer than %v", maxScrape)
	}
}

// A flood is what clients did to a server.
type flood struct {
	server *opa

	mu        sync.Mutex
	paths     int             // decisions by invented paths
	latencies []time.Duration // of all decisions
}

// run invents at least so many paths and goes on for the duration at least. Of
// two requests, one has an invented path; the other asks the policy with an
// invented input.
func (f *flood) run(t *testing.T, paths int, duration time.Duration) {
	t.Helper()
	const clients = 4
	var all sync.WaitGroup
	start := time.Now()
	for i := range clients {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), uint64(paths)))
			n := 0
			var latencies []time.Duration
			for ; t.Context().Err() == nil && (n < (paths+clients-1)/clients || time.Since(start) < duration); n++ {
				for _, q := range []question{
					{method: http.MethodGet, path: "/v1/data/" + invented(r)},
					{method: http.MethodPost, path: "/v1/data/authz/decision?instrument=true", body: inventedInput(r)},
				} {
					begin := time.Now()
					status, body, err := f.server.ask(t.Context(), q)
					latencies = append(latencies, time.Since(begin))
					if err != nil || status != http.StatusOK {
						t.Errorf("%s %s: HTTP status %d, %v: %.300s", q.method, q.path, status, err, body)
						return
					}
				}
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.paths += n
			f.latencies = append(f.latencies, latencies...)
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// invented is a path that no policy has, below a real package or elsewhere.
func invented(r *rand.Rand) string {
	return []string{"", "authz/", "catalog/x/"}[r.IntN(3)] + fmt.Sprintf("invented-%x/%d", r.Uint64(), r.IntN(1000))
}

// inventedInput has names and values that look like metrics.
func inventedInput(r *rand.Rand) string {
	return fmt.Sprintf(`{"input": {"user": "user-%x", "action": "timer_%x_ns", "metrics": {"timer_stage_%[2]x_ns": %d, "counter_%[1]x": 1}}}`,
		r.Uint64(), r.Uint64(), r.IntN(1_000_000))
}

// usage is a server's memory in bytes. rss is 0 where it cannot be had.
type usage struct{ heap, rss int64 }

// usage collects garbage first.
func (s *opa) usage(t *testing.T) usage {
	t.Helper()
	s.get(t, "/debug/pprof/heap?gc=1")
	families := s.families(t)
	value := func(name string) int64 {
		metrics := families[name].GetMetric()
		if len(metrics) != 1 {
			t.Fatalf("no metric %s", name)
		}
		return int64(metrics[0].GetGauge().GetValue())
	}
	u := usage{heap: value("go_memstats_heap_alloc_bytes")}
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.process.Pid)); err == nil { // Linux alone has it
		var total, resident int64
		if _, err := fmt.Sscan(string(text), &total, &resident); err != nil {
			t.Fatal(err)
		}
		u.rss = resident * int64(os.Getpagesize())
	}
	return u
}
