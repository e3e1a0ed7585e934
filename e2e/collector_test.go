// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// notCollected are the queries of the dashboard that need what only OPA's own
// /metrics or the plugin has, and the problems of events, of which there are
// none.
var notCollected = regexp.MustCompile(`"(Servers by bundle revision|Failed requests of http.send|Left out|Chunks uploaded|Decision log: .*|Waiting: .*)"|` +
	`good request", query A|requests", query B|passed on", query [AB]|annotation (Bundle activated|Revision active)`)

// TestCollector lets servers without the plugin upload to regometer collect,
// which Prometheus scrapes. Prometheus has exactly what clients asked for. The
// dashboard has data. Each alert about the collector fires after its fault.
func TestCollector(t *testing.T) {
	endToEnd(t)
	control, collector := startControl(t), newSteady(t)
	control.refused.Store(0)
	collect := func() {
		s := &opa{name: "collector", address: freeAddress(t)}
		s.process = start(t, exec.Command(regometer(t), "collect", "--addr", s.address, "--policy", "testdata/policy", "--forward", control.server.URL))
		await(t, "the collector is healthy", func() bool {
			status, _, _ := ask(t.Context(), http.MethodGet, s.url("/health"), "", "")
			return status == http.StatusOK
		})
		collector.server.Store(s)
	}
	collect()
	work := map[string]workload{"gateway": gateway, "search": search, "calls": calls}
	servers := map[string]*opa{}
	for name := range work {
		logs := uploads(nil)
		logs["service"], logs["console"] = "collector", false
		config := control.config(logs)
		config["services"].(map[string]any)["collector"] = map[string]any{"url": "http://" + collector.address}
		delete(config, "plugins")
		servers[name] = startOPA(t, name, config)
	}
	m := startMonitor(t, map[string]string{"collector": collector.address}, false, scaledRules(t)...)
	awaitScrapes(t, m)
	run := func(duration time.Duration, names ...string) {
		var all sync.WaitGroup
		for _, name := range names {
			all.Go(func() { servers[name].run(t, work[name], duration, 2, 10) })
		}
		all.Wait()
	}

	start := time.Now()
	run(25*time.Second, "gateway", "search", "calls") // what is usual for OPAServersSilent
	sent, total := map[[2]string]int{}, 0
	for _, s := range servers {
		for decision, n := range s.sent {
			sent[decision] += n
			total += n
		}
	}
	await(t, "all decisions are uploaded", func() bool {
		received := m.vector(t, `sum(opa_decision_received_total)`, time.Now())
		return len(received) == 1 && received[0].F == float64(total)
	})
	end := time.Now()
	assert.Equal(t, sent, m.byLabels(t, "sum by (path, outcome) (opa_decisions_total) > 0", end, [2]string{"path", "outcome"}))
	for _, target := range dashboardTargets(t, "opa-decisions.json") {
		found := m.matrix(t, target.query, start, end, scrapeInterval)
		assert.Equal(t, !notCollected.MatchString(target.where), len(found) > 0, "%s has data", target.where)
	}
	fire := func(name string, want ...string) {
		await(t, "these alerts fire: "+strings.Join(want, ", "), func() bool {
			got := slices.DeleteFunc(firing(m, false), func(alert string) bool {
				return !strings.HasPrefix(alert, name)
			})
			slices.Sort(got)
			return slices.Equal(want, slices.Compact(got))
		})
	}
	fire("OPACollector")
	fire("OPAServersSilent")
	var traffic sync.WaitGroup
	traffic.Go(func() { run(75*time.Second, "gateway", "calls") })
	servers["search"].Kill()
	collector.server.Load().Kill() // it knows the silent server for 20 minutes
	collect()
	fire("OPAServersSilent", "OPAServersSilent opa")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+collector.address+"/logs", strings.NewReader("no decisions"))
	require.NoError(t, err)
	request.Header.Set("User-Agent", "Open-Policy-Agent/1.22.0")
	response, err := client.Do(request)
	require.NoError(t, err)
	_ = response.Body.Close()
	fire("OPACollector", "OPACollectorCannotRead collector")
	control.refused.Store(1)
	fire("OPACollector", "OPACollectorRefuses collector")
	traffic.Wait()
}
