// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

var soakTime = flag.Duration("soak", 0, "how long TestSoak takes, instead of a minute")

// maxSoakGrowth is by how much the heap in use may be more in the last third of
// a soak than in the first, in bytes: less than 20 for each decision between
// them in 30 minutes.
const maxSoakGrowth = 4 << 20

// maxSoakGoroutines is by how many goroutines a server may be busier at the
// end, with connections that it keeps. One left by each reload would be far
// more.
const maxSoakGoroutines = 4

// TestSoak: a server decides under load while its policy is replaced every
// other second, its configuration by discovery a little less often, and two
// scrapers come at once. At the end each decision is counted by its path and
// outcome, the heap is as large as in the beginning, and no goroutine is left.
func TestSoak(t *testing.T) {
	endToEnd(t)
	duration := long(time.Minute, 20*time.Second)
	if *soakTime > 0 {
		duration = *soakTime
	}
	control := startControl(t)
	s := startSoaked(t, control)
	r := rand.New(rand.NewPCG(1, 2))

	// Both have what is started with the first requests and reloads.
	control.renew(t, r, 1)
	sent := s.run(t, soakWork, 2*time.Second, soakClients, soakRate)
	control.renew(t, r, 0)
	s.revision(t, "revision 0")
	before := s.goroutines(t, control, 5*time.Second)

	ctx, stop := context.WithCancel(t.Context())
	var background sync.WaitGroup
	background.Go(func() {
		for n := 1; pause(ctx, 1500*time.Millisecond); n++ {
			control.renew(t, r, n)
		}
	})
	background.Go(func() {
		for pause(ctx, time.Second) {
			var both sync.WaitGroup
			for _, accept := range []string{"text/plain", "application/openmetrics-text"} {
				both.Go(func() { s.scrape(t, accept) })
			}
			both.Wait()
		}
	})
	var samples []usage
	background.Go(func() {
		for pause(ctx, max(duration/60, time.Second)) {
			samples = append(samples, s.usage(t))
		}
	})
	for key, n := range s.run(t, soakWork, duration, soakClients, soakRate) {
		sent[key] += n
	}
	stop()
	background.Wait()
	if len(samples) < 6 {
		t.Errorf("the memory was looked at %d times only", len(samples))
	}
	if t.Failed() {
		t.FailNow()
	}
	control.renew(t, r, lastRevision)
	s.revision(t, fmt.Sprint("revision ", lastRevision))

	total := 0
	for _, n := range sent {
		total += n
	}
	var heaps []int64 // by sixths of the time
	for i := range int64(6) {
		n := int64(len(samples))
		heaps = append(heaps, medianHeap(samples[n*i/6:n*(i+1)/6])>>10)
	}
	first, last := medianHeap(samples[:len(samples)/3]), medianHeap(samples[len(samples)-len(samples)/3:])
	after := s.goroutines(t, control, 10*time.Second)
	t.Logf("%d decisions, %d policies, %d configurations; heap by sixths of the time %d kB; resident then %d kB, at the end %d kB; %d goroutines, then %d",
		total, control.downloads("bundle.tar.gz"), control.downloads("discovery.tar.gz"), heaps,
		samples[len(samples)/3].rss>>10, samples[len(samples)-1].rss>>10, before, after)

	counted := s.counted(t)
	if !maps.Equal(counted, sent) {
		t.Errorf("counted are %v,\nsent were %v", counted, sent)
	}
	if last > first+maxSoakGrowth {
		t.Errorf("the heap grew from %d to %d bytes, want at most %d more", first, last, maxSoakGrowth)
	}
	if after > before+maxSoakGoroutines {
		t.Errorf("%d goroutines are left, %d were there in the beginning", after, before)
	}
	reloads := int(duration / (10 * time.Second))
	if n := control.downloads("bundle.tar.gz"); n < reloads {
		t.Errorf("%d policies in %v, want at least %d", n, duration, reloads)
	}
	if n := control.downloads("discovery.tar.gz"); n < reloads {
		t.Errorf("%d configurations in %v, want at least %d", n, duration, reloads)
	}
}

const (
	soakClients = 4
	soakRate    = 50 // requests per second of each client
	soakedApps  = 5  // packages that all policies have: with five more there are labels for all

	lastRevision = 1_000_000
)

// startSoaked starts a server whose configuration comes by discovery.
func startSoaked(t *testing.T, c *control) *opa {
	t.Helper()
	c.renew(t, rand.New(rand.NewPCG(0, 0)), 0)
	s := startOPA(t, "soaked", map[string]any{
		"services": map[string]any{"control": map[string]any{"url": c.url}},
		"discovery": map[string]any{
			"service": "control", "resource": "discovery.tar.gz",
			"polling": map[string]any{"min_delay_seconds": 2, "max_delay_seconds": 3},
		},
	})
	s.revision(t, "revision 0")
	return s
}

// renew makes the nth policy, with a random number of applications, and the nth
// configuration. What the workload asks for is in all of them, by the same
// name.
func (c *control) renew(t *testing.T, r *rand.Rand, n int) {
	t.Helper()
	modules, _ := applications(soakedApps + r.IntN(6))
	for i := range modules {
		modules[i] += fmt.Sprintf("\nhelper_%d := %d", n, r.IntN(100))
	}
	version := fmt.Sprint("revision ", n)
	config := c.config(nil)
	delete(config, "decision_logs") // too long to keep
	delete(config, "services")      // not by discovery
	config["plugins"] = map[string]any{"regometer": map[string]any{"max_paths": 45 + r.IntN(6)}}
	c.put("discovery.tar.gz", version, tarball(t, map[string][]byte{"/data.json": asJSON(t, config)}))
	c.activate(t, version, modules...)
}

// soakWork is a bit of everything, the same from the beginning to the end.
func soakWork(r *rand.Rand, _ float64) question {
	switch roll := r.Float64(); {
	case roll < 0.5:
		return gateway(r, 0)
	case roll < 0.7:
		return calls(r, 0)
	case roll < 0.75:
		return search(r, 0)
	}
	path := fmt.Sprintf("more/app%02d/allow", r.IntN(soakedApps))
	return question{method: http.MethodPost, path: "/v1/data/" + path + "?instrument=true", body: inventedInput(r), label: path, outcome: "allowed"}
}

// pause reports false if there is no more to come.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// scrape asks for a page and throws it away.
func (s *opa) scrape(t *testing.T, accept string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.address+"/metrics", nil)
	if err != nil {
		t.Error(err)
		return
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("a scrape: HTTP status %d, %v", response.StatusCode, err)
	}
}

// goroutines returns the least number of goroutines that a server has within
// some time, while nobody asks it anything.
func (s *opa) goroutines(t *testing.T, c *control, d time.Duration) int {
	t.Helper()
	c.server.CloseClientConnections() // those that http.send has kept
	least := math.MaxInt
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		client.CloseIdleConnections()
		least = min(least, int(s.families(t)["go_goroutines"].GetMetric()[0].GetGauge().GetValue()))
	}
	return least
}

func medianHeap(samples []usage) int64 {
	samples = slices.SortedFunc(slices.Values(samples), func(a, b usage) int { return int(a.heap - b.heap) })
	return samples[len(samples)/2].heap
}

// counted returns how many decisions a server has counted, by path and outcome.
func (s *opa) counted(t *testing.T) map[[2]string]int {
	t.Helper()
	counted := map[[2]string]int{}
	for _, m := range s.families(t)["opa_decisions_total"].GetMetric() {
		var key [2]string
		for _, label := range m.GetLabel() {
			switch label.GetName() {
			case "path":
				key[0] = label.GetValue()
			case "outcome":
				key[1] = label.GetValue()
			}
		}
		if n := int(m.GetCounter().GetValue()); n > 0 {
			counted[key] += n
		}
	}
	return counted
}
