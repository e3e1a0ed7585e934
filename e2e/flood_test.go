// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/regometer/regometer/e2e/harness"
)

// Limits of a server in a flood of invented paths and inputs. The growth of the
// heap and of the resident memory is measured after a warm-up.
const (
	maxSeries       = 3500      // of a text scrape
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
	harness.EndToEnd(t)
	inventedPaths, duration := long(100_000, 10_000), long(time.Minute, 5*time.Second)
	config := startControl(t).config(nil)
	delete(config, "decision_logs")
	s := startOPA(t, "flooded", config)
	m := startMonitor(t, map[string]string{"flooded": s.address}, monitorOptions{interval: maxScrape})

	s.flood(t, inventedPaths/20, time.Second) // to warm up
	before := s.usage(t)
	s.flood(t, inventedPaths, duration)
	after := s.usage(t)
	settled := awaitScrapes(t, m)

	slices.Sort(s.latencies)
	median, most := s.latencies[len(s.latencies)/2], s.latencies[len(s.latencies)-1]
	series := s.countSeries(t)
	stored := m.number(t, `count({__name__=~"(opa_decision|regometer).*"})`, settled)
	t.Logf("%d decisions: %d series by text, %v stored; heap %d to %d kB, resident %d to %d kB; half of the answers within %v, all within %v; scrapes within %v s",
		len(s.latencies), series, stored, before.heap>>10, after.heap>>10, before.rss>>10, after.rss>>10, median, most,
		m.number(t, "max_over_time(scrape_duration_seconds[1h])", settled))

	assert.Equal(t, s.sent, m.byLabels(t, "opa_decisions_total > 0", settled, [2]string{"path", "outcome"}))
	assert.LessOrEqual(t, series, maxSeries)
	assert.LessOrEqual(t, stored, float64(maxStoredSeries))
	assert.LessOrEqual(t, after.heap, before.heap+maxHeapGrowth)
	assert.LessOrEqual(t, after.rss, before.rss+maxRSSGrowth)
	assert.LessOrEqual(t, median, maxMedian)
	assert.EqualValues(t, 1, m.number(t, "min_over_time(up[1h])", settled), "each scrape takes at most %v", maxScrape)
}

// flood lets clients invent a number of paths at least, for a duration at
// least.
func (s *opa) flood(t *testing.T, paths int, duration time.Duration) {
	other := [2]string{"other", "undefined"}
	for start, sent := time.Now(), s.sent[other]; s.sent[other] < sent+paths || time.Since(start) < duration; {
		s.run(t, floodWork, time.Second, 4, 1e9)
		require.False(t, t.Failed())
	}
}

// floodWork asks for invented paths, below a real package or elsewhere, and as
// often for a decision about an invented input. It does not use the random
// numbers of run, which are the same in each run.
func floodWork(_ *rand.Rand, _ float64) question {
	if rand.IntN(2) == 0 {
		return question{
			method: http.MethodPost, path: "/v1/data/authz/decision?instrument=true", body: inventedInput(),
			label: "authz/decision", outcome: "denied",
		}
	}
	folder := []string{"", "authz/", "catalog/x/"}[rand.IntN(3)]
	path := fmt.Sprintf("/v1/data/%sinvented-%x/%d", folder, rand.Uint64(), rand.IntN(1000))
	return question{method: http.MethodGet, path: path, label: "other", outcome: "undefined"}
}

// inventedInput has names and values that look like metrics.
func inventedInput() string {
	return fmt.Sprintf(`{"input": {"user": "user-%x", "action": "timer_%x_ns", "metrics": {"timer_stage_%[2]x_ns": %d, "counter_%[1]x": 1}}}`,
		rand.Uint64(), rand.Uint64(), rand.IntN(1_000_000))
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
