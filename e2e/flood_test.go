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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Limits of what a flood of invented paths and inputs may do to a server. The
// heap and the resident memory are compared with those after a warm-up by the
// same clients. Every request must be answered within the client's patience.
const (
	maxSeries       = 2500      // of a text scrape
	maxStoredSeries = 700       // in Prometheus, where a native histogram is one series
	maxHeapGrowth   = 8 << 20   // bytes in use after a garbage collection
	maxRSSGrowth    = 128 << 20 // bytes
	maxMedian       = 100 * time.Millisecond
	maxScrape       = 5 * time.Second
)

// TestFlood lets clients invent 100,000 paths, and inputs, for a minute.
// Memory, series and latency must stay within limits, and each decision must be
// counted.
func TestFlood(t *testing.T) {
	endToEnd(t)
	inventedPaths, duration := long(100_000, 10_000), long(time.Minute, 5*time.Second)
	config := startControl(t).config(nil)
	delete(config, "decision_logs")
	s := startOPA(t, "flooded", config)
	m := startMonitor(t, map[string]string{"flooded": s.address}, monitorOptions{interval: maxScrape})

	latencies := s.flood(t, inventedPaths/20, time.Second) // to warm up
	before := s.usage(t)
	latencies = append(latencies, s.flood(t, inventedPaths, duration)...)
	after := s.usage(t)
	settled := awaitScrapes(t, m)

	slices.Sort(latencies)
	median, most := latencies[len(latencies)/2], latencies[len(latencies)-1]
	series := checkSeriesGauge(t, s.ourFamilies(t))
	stored := m.number(t, `count({__name__=~"(opa_decision|regometer).*"})`, settled)
	t.Logf("%d decisions: %d series by text, %v stored; heap %d to %d kB, resident %d to %d kB; half of the answers within %v, all within %v; scrapes within %v s",
		len(latencies), series, stored, before.heap>>10, after.heap>>10, before.rss>>10, after.rss>>10, median, most,
		m.number(t, "max_over_time(scrape_duration_seconds[1h])", settled))

	assert.EqualValues(t, len(latencies), m.number(t, "sum(opa_decisions_total)", settled))
	assert.EqualValues(t, len(latencies)/2, m.number(t, `sum(opa_decisions_total{path="other"})`, settled))
	assert.LessOrEqual(t, series, maxSeries)
	assert.LessOrEqual(t, stored, float64(maxStoredSeries))
	assert.LessOrEqual(t, after.heap, before.heap+maxHeapGrowth)
	assert.LessOrEqual(t, after.rss, before.rss+maxRSSGrowth)
	assert.LessOrEqual(t, median, maxMedian)
	assert.EqualValues(t, 1, m.number(t, "min_over_time(up[1h])", settled), "each scrape takes at most %v", maxScrape)
}

// flood invents paths, for the duration at least, and returns the latencies of
// all requests. Every other request has an invented path. The others ask the
// policy with an invented input.
func (s *opa) flood(t *testing.T, paths int, duration time.Duration) (latencies []time.Duration) {
	const clients = 4
	var mu sync.Mutex
	var all sync.WaitGroup
	start := time.Now()
	for i := range clients {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), uint64(paths)))
			for n := 0; t.Context().Err() == nil && (n < (paths+clients-1)/clients || time.Since(start) < duration); n++ {
				for _, q := range []question{
					{method: http.MethodGet, path: "/v1/data/" + invented(r)},
					{method: http.MethodPost, path: "/v1/data/authz/decision?instrument=true", body: inventedInput(r)},
				} {
					begin := time.Now()
					if !assert.NoError(t, s.ask(t, q)) {
						return
					}
					mu.Lock()
					latencies = append(latencies, time.Since(begin))
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	require.False(t, t.Failed())
	return latencies
}

// invented returns a path that no policy has, below a real package or
// elsewhere.
func invented(r *rand.Rand) string {
	return []string{"", "authz/", "catalog/x/"}[r.IntN(3)] + fmt.Sprintf("invented-%x/%d", r.Uint64(), r.IntN(1000))
}

// inventedInput has names and values that look like metrics.
func inventedInput(r *rand.Rand) string {
	return fmt.Sprintf(`{"input": {"user": "user-%x", "action": "timer_%x_ns", "metrics": {"timer_stage_%[2]x_ns": %d, "counter_%[1]x": 1}}}`,
		r.Uint64(), r.Uint64(), r.IntN(1_000_000))
}

// usage is a server's memory in bytes. rss is 0 on systems other than Linux.
type usage struct{ heap, rss int64 }

// usage returns the memory after a garbage collection.
func (s *opa) usage(t *testing.T) usage {
	s.get(t, "/debug/pprof/heap?gc=1", "")
	u := usage{heap: int64(s.gauge(t, "go_memstats_heap_alloc_bytes"))}
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.Cmd.Process.Pid)); err == nil {
		var total, resident int64
		_, err := fmt.Sscan(string(text), &total, &resident)
		require.NoError(t, err)
		u.rss = resident * int64(os.Getpagesize())
	}
	return u
}

// gauge returns the value of a metric without labels.
func (s *opa) gauge(t *testing.T, name string) float64 {
	metrics := s.families(t)[name].GetMetric()
	require.Len(t, metrics, 1, name)
	return metrics[0].GetGauge().GetValue()
}
