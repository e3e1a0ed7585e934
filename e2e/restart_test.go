// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/regometer/regometer/e2e/harness"
)

// TestKilledServer kills a server after a last scrape and starts another one.
// Prometheus must see one reset, and its sums must be right.
func TestKilledServer(t *testing.T) {
	harness.EndToEnd(t)
	const histogram = `opa_decision_path_duration_seconds{stage="rego_query_eval"}`
	native := []string{"histogram_count(increase(" + histogram + "%s))", "histogram_sum(increase(" + histogram + "%s))", "resets(" + histogram + "%s)"}
	classic := []string{
		`increase(opa_decision_path_duration_seconds_count{stage="rego_query_eval"}%s)`,
		`increase(opa_decision_path_duration_seconds_sum{stage="rego_query_eval"}%s)`,
		`resets(opa_decision_path_duration_seconds_count{stage="rego_query_eval"}%s)`,
	}
	for _, test := range []struct {
		name          string
		before, after int // decisions
		options       monitorOptions
		queries       []string // for count, sum and resets
	}{
		{"native", 300, 100, monitorOptions{}, native},
		{"classic", 300, 100, monitorOptions{classic: true}, classic},
		// The new server has counted more than the old one when it is first
		// scraped: only its created timestamps tell. The restart falls between
		// two scrapes: after a failed scrape, Prometheus refuses the zero of an
		// earlier time.
		{"created timestamps", 100, 300, monitorOptions{createdTimestamps: true, interval: 15 * time.Second}, native},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := startControl(t).config(nil)
			target := newSteady(t) // the target keeps its address
			m := startMonitor(t, map[string]string{"server": target.address}, test.options)
			allow := func(s *opa, n int) {
				for range n {
					s.decide(t, `{"user": "alice", "action": "write"}`, "authz/allow")
				}
			}
			first := startOPA(t, "first", config)
			allow(first, 1)
			target.server.Store(first)
			awaitScrapes(t, m) // the first decision has made the series
			allow(first, test.before-1)
			awaitScrapes(t, m)
			target.server.Store(nil)
			first.Kill()
			second := startOPA(t, "second", config)
			allow(second, test.after)
			target.server.Store(second)
			awaitScrapes(t, m)

			logged := readDecisions(t, first, second).durations[stage{"authz/allow", "rego_query_eval"}]
			if !test.options.createdTimestamps {
				logged = logged[1:] // counted before the first scrape
			}
			// Exactly from the first sample to the last, so that increase has
			// nothing to extrapolate.
			begin, end := m.span(t, "opa_decisions_total", time.Now())
			window := fmt.Sprintf("[%dms]", end.Sub(begin).Milliseconds()+1)
			for query, want := range map[string]float64{
				`sum(increase(opa_decisions_total{outcome="allowed"}%s))`:             float64(len(logged)),
				`resets(opa_decisions_total{path="authz/allow",outcome="allowed"}%s)`: 1,
				test.queries[0]: float64(len(logged)),
				test.queries[1]: seconds(logged),
				test.queries[2]: 1,
			} {
				query = fmt.Sprintf(query, window)
				assert.InEpsilon(t, want, m.number(t, query, end), 0.002, query)
			}
		})
	}
}
