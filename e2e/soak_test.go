// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	soakClients = 4
	soakRate    = 200  // requests per second of each client
	maxSeries   = 3500 // of a text scrape, as docs/operating.md says
	maxStored   = 700  // in Prometheus, where a native histogram is one series
	soakedApps  = 5    // packages that all policies have: with five more there are labels for all

	// maxSoakGrowth limits the growth of the heap in use, in bytes, from the
	// first third of a soak to the last: to less than 20 for each decision
	// between them in 30 minutes.
	maxSoakGrowth = 4 << 20

	// maxSoakGoroutines limits the number of further goroutines at the end.
	// Kept connections have some. One left by each reload would be far more.
	maxSoakGoroutines = 4

	lastRevision = 1_000_000
)

// TestSoak puts load on a server, also with invented paths and inputs.
// Meanwhile its policy and its configuration change every few seconds, and two
// scrapers read its metrics. At the end each decision must be counted by its
// path and outcome, the series must be within their limit, the heap must be as
// large as in the beginning, and no goroutine may remain.
func TestSoak(t *testing.T) {
	endToEnd(t)
	duration := long(time.Minute, 20*time.Second)
	if given := os.Getenv("REGOMETER_SOAK"); given != "" { // such as 30m
		var err error
		duration, err = time.ParseDuration(given)
		require.NoError(t, err)
	}
	control := startControl(t)
	r := rand.New(rand.NewPCG(1, 2))
	control.renew(t, r, 0)
	s := startOPA(t, "soaked", map[string]any{
		"services": map[string]any{"control": map[string]any{"url": control.server.URL}},
		"discovery": map[string]any{
			"service": "control", "resource": "discovery.tar.gz",
			"polling": map[string]any{"min_delay_seconds": 2, "max_delay_seconds": 3},
		},
	})
	s.awaitRevision(t, "revision 0")

	// The first requests and reloads start goroutines that stay.
	control.renew(t, r, 1)
	s.run(t, soakWork, 2*time.Second, soakClients, soakRate)
	control.renew(t, r, 2)
	s.awaitRevision(t, "revision 2")
	before := s.goroutines(t, control, 5*time.Second)

	ctx, stop := context.WithCancel(t.Context())
	var background sync.WaitGroup
	each := func(d time.Duration, do func(n int)) {
		background.Go(func() {
			for n := 3; ctx.Err() == nil; n++ {
				do(n)
				time.Sleep(d)
			}
		})
	}
	each(1500*time.Millisecond, func(n int) { control.renew(t, r, n) })
	for _, accept := range []string{"text/plain", "application/openmetrics-text"} {
		each(time.Second, func(int) {
			status, _, err := ask(t.Context(), http.MethodGet, s.url("/metrics"), "", accept)
			assert.True(t, err == nil && status == http.StatusOK, "a scrape: HTTP status %d, %v", status, err)
		})
	}
	var samples []int64
	each(max(duration/60, time.Second), func(int) { samples = append(samples, s.heap(t)) })
	s.run(t, soakWork, duration, soakClients, soakRate)
	stop()
	background.Wait()
	assert.GreaterOrEqual(t, len(samples), 6, "samples of the memory")
	require.False(t, t.Failed())
	control.renew(t, r, lastRevision)
	s.awaitRevision(t, fmt.Sprint("revision ", lastRevision))

	third := len(samples) / 3
	first, last := median(samples[:third]), median(samples[len(samples)-third:])
	after := s.goroutines(t, control, 10*time.Second)
	policies, configurations := control.downloads("bundle.tar.gz"), control.downloads("discovery.tar.gz")
	t.Logf("%d policies, %d configurations; heap %d, %d, then %d kB; %d goroutines, then %d", policies, configurations,
		first>>10, median(samples[third:2*third])>>10, last>>10, before, after)

	want := map[string]float64{}
	for key, n := range s.sent {
		want[fmt.Sprintf("outcome=%q path=%q", key[1], key[0])] = float64(n)
	}
	assert.Equal(t, want, counters(s.families(t)["opa_decisions_total"]))
	assert.LessOrEqual(t, s.countSeries(t), maxSeries, "series")
	stored := 0
	for name, family := range s.families(t) {
		if strings.HasPrefix(name, "opa_decision") || strings.HasPrefix(name, "regometer_") {
			stored += len(family.GetMetric())
		}
	}
	assert.LessOrEqual(t, stored, maxStored, "series of a native scrape")
	assert.LessOrEqual(t, last, first+maxSoakGrowth, "the heap")
	assert.LessOrEqual(t, after, before+maxSoakGoroutines, "goroutines")
	reloads := int(duration / (10 * time.Second))
	assert.GreaterOrEqual(t, policies, reloads)
	assert.GreaterOrEqual(t, configurations, reloads)
}

// renew makes the nth policy, with a random number of applications, and the nth
// configuration. All policies have the rules that the workload asks for.
func (c *control) renew(t *testing.T, r *rand.Rand, n int) {
	var modules []string
	for i := range soakedApps + r.IntN(6) {
		modules = append(modules, fmt.Sprintf("package more.app%02d\nallow := true\nhelper_%d := %d", i, n, r.IntN(100)))
	}
	version := fmt.Sprint("revision ", n)
	config := c.config(nil)
	delete(config, "decision_logs") // too long to keep
	delete(config, "services")      // discovery cannot change them
	config["plugins"] = map[string]any{"regometer": map[string]any{"max_paths": 45 + r.IntN(6)}}
	c.put("discovery.tar.gz", version, bundle(t, map[string]string{"/data.json": asJSON(t, config)}))
	c.activate(t, version, modules...)
}

// soakWork mixes the other workloads, and requests with invented paths and
// inputs, in equal shares from beginning to end.
func soakWork(r *rand.Rand, _ float64) question {
	q := question{method: http.MethodPost, body: inventedInput()}
	switch roll := r.Float64(); {
	case roll < 0.3:
		return gateway(r, 0)
	case roll < 0.4:
		return calls(r, 0)
	case roll < 0.45:
		return search(r, 0)
	case roll < 0.6:
		q.label, q.outcome = fmt.Sprintf("more/app%02d/allow", r.IntN(soakedApps)), "allowed"
	case roll < 0.7:
		q.label, q.outcome = "authz/decision", "denied"
	default:
		folder := []string{"", "authz/", "catalog/x/"}[r.IntN(3)]
		q.path, q.label, q.outcome = fmt.Sprintf("/v1/data/%sinvented-%x/%d", folder, rand.Uint64(), r.IntN(1000)), "other", "undefined"
		return q
	}
	q.path = "/v1/data/" + q.label + "?instrument=true"
	return q
}

// inventedInput has names and values that look like metrics.
func inventedInput() string {
	return fmt.Sprintf(`{"input": {"user": "user-%x", "action": "timer_%x_ns", "metrics": {"timer_stage_%[2]x_ns": %d, "counter_%[1]x": 1}}}`,
		rand.Uint64(), rand.Uint64(), rand.IntN(1_000_000))
}

// goroutines returns the least number of goroutines that a server has within
// some time, while it gets no requests.
func (s *opa) goroutines(t *testing.T, c *control, d time.Duration) int {
	c.server.CloseClientConnections() // the connections of http.send
	least := math.MaxInt
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		client.CloseIdleConnections()
		least = min(least, int(s.gauge(t, "go_goroutines")))
	}
	return least
}

func median(samples []int64) int64 {
	return slices.Sorted(slices.Values(samples))[len(samples)/2]
}

// heap returns the bytes in use after a garbage collection.
func (s *opa) heap(t *testing.T) int64 {
	s.get(t, "/debug/pprof/heap?gc=1", "")
	return int64(s.gauge(t, "go_memstats_heap_alloc_bytes"))
}

// gauge returns the value of a metric without labels.
func (s *opa) gauge(t *testing.T, name string) float64 {
	metrics := s.families(t)[name].GetMetric()
	require.Len(t, metrics, 1, name)
	return metrics[0].GetGauge().GetValue()
}
