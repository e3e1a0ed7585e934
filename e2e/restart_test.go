// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// TestKilledServer: a server is killed after a last scrape and started again.
// Prometheus sees one reset, and its sums are right.
func TestKilledServer(t *testing.T) {
	endToEnd(t)
	for _, test := range []struct {
		name          string
		before, after int // decisions
		options       monitorOptions
	}{
		{"native", 300, 100, monitorOptions{}},
		{"classic", 300, 100, monitorOptions{classic: true}},
		// The new server has counted more than the old one when it is first
		// scraped: only its created timestamps tell. The restart falls between
		// two scrapes: after one that fails, Prometheus refuses the zero of an
		// earlier time.
		{"created timestamps", 100, 300, monitorOptions{createdTimestamps: true, interval: 15 * time.Second}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			control := startControl(t)
			config := control.config(nil)
			var now atomic.Pointer[opa] // nil: down
			// The server's address changes, that of the target must not.
			target := httptest.NewServer(&httputil.ReverseProxy{
				ErrorLog: log.New(io.Discard, "", 0), // it complains of the server that is down,
				Rewrite: func(r *httputil.ProxyRequest) {
					address := "127.0.0.1:0" // an error
					if s := now.Load(); s != nil {
						address = s.address
					}
					r.SetURL(&url.URL{Scheme: "http", Host: address})
				},
			})
			t.Cleanup(target.Close)
			m := startMonitor(t, map[string]string{"server": target.Listener.Addr().String()}, test.options)

			first := startOPA(t, "first", config)
			first.allow(t, 1)
			now.Store(first)
			m.awaitScrapes(t) // the series exist now: with the first decision
			first.allow(t, test.before-1)
			m.awaitScrapes(t)
			now.Store(nil)
			first.kill()

			second := startOPA(t, "second", config)
			second.allow(t, test.after)
			now.Store(second)
			m.awaitScrapes(t)

			total := float64(test.before + test.after)
			if !test.options.createdTimestamps {
				total-- // counted before the first scrape
			}
			// Exactly from the first sample to the last, so that increase has
			// nothing to extrapolate.
			begin, end := m.span(t, "opa_decisions_total", time.Now())
			window := fmt.Sprintf("[%dms]", end.Sub(begin).Milliseconds()+1)
			count := `histogram_count(increase(opa_decision_path_duration_seconds{stage="rego_query_eval"}%s))`
			sum := `histogram_sum(increase(opa_decision_path_duration_seconds{stage="rego_query_eval"}%s))`
			resets := `resets(opa_decision_path_duration_seconds{stage="rego_query_eval"}%s)`
			if test.options.classic {
				count = `increase(opa_decision_path_duration_seconds_count{stage="rego_query_eval"}%s)`
				sum = `increase(opa_decision_path_duration_seconds_sum{stage="rego_query_eval"}%s)`
				resets = `resets(opa_decision_path_duration_seconds_count{stage="rego_query_eval"}%s)`
			}
			var exactSum float64
			logged := readDecisions(t, first, second).durations[stage{"authz/allow", "rego_query_eval"}]
			for _, ns := range logged {
				exactSum += float64(ns) / 1e9
			}
			if !test.options.createdTimestamps {
				exactSum -= float64(logged[0]) / 1e9
			}
			for query, want := range map[string]float64{
				`sum(increase(opa_decisions_total{outcome="allowed"}%s))`: total,
				count: total,
				sum:   exactSum,
			} {
				query = fmt.Sprintf(query, window)
				if got := m.number(t, query, end); !(got > want*0.998 && got < want*1.002) {
					t.Errorf("%s is %v, want %v", query, got, want)
				}
			}
			for _, query := range []string{`resets(opa_decisions_total{path="authz/allow",outcome="allowed"}%s)`, resets} {
				query = fmt.Sprintf(query, window)
				if got := m.number(t, query, end); got != 1 {
					t.Errorf("%s is %v, want 1", query, got)
				}
			}
		})
	}
}

// allow makes so many decisions that allow.
func (s *opa) allow(t *testing.T, n int) {
	t.Helper()
	q := question{
		method: http.MethodPost, path: "/v1/data/authz/allow", body: `{"input": {"user": "alice", "action": "write"}}`,
		label: "authz/allow", outcome: "allowed",
	}
	for range n {
		status, body, err := s.ask(t.Context(), q)
		if err != nil || status != http.StatusOK {
			t.Fatalf("%s: HTTP status %d, %v: %s", s.name, status, err, body)
		}
	}
}
