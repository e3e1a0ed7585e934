// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A fleet is three servers with different work and two Prometheuses that have
// scraped them: one stores native histograms, the other classic ones.
type fleet struct {
	servers         []*opa
	native, classic *monitor

	sent       map[[2]string]int // decisions by path and outcome
	logged     *decisions
	start, end time.Time // of the work
	settled    time.Time // all of the work is stored since then
}

var (
	nativeRules  = root + "/dashboards/recording-rules.yaml"
	classicRules = root + "/dashboards/recording-rules-classic.yaml"
	alertRules   = root + "/dashboards/alerting-rules.yaml"
)

// TestFleet compares the metrics of a fleet in Prometheus with its decision
// logs, and evaluates the
// dashboards, rules and documented queries on them.
func TestFleet(t *testing.T) {
	endToEnd(t)
	f := startFleet(t)
	for name, test := range map[string]func(*testing.T, *fleet){
		"totals":             testTotals,
		"native histograms":  testNativeHistograms,
		"classic histograms": testClassicHistograms,
		"dashboards":         testDashboards,
		"documents":          testDocuments,
		"rules":              testRules,
		"lint":               testLint,
	} {
		t.Run(name, func(t *testing.T) { test(t, f) })
	}
}

func startFleet(t *testing.T) *fleet {
	control := startControl(t)
	// Each decision log loses events in its own way, so that all of OPA's
	// series about them have data.
	members := []struct {
		name      string
		work      workload
		clients   int
		perSecond float64
		limits    map[string]any
	}{
		{"gateway", gateway, 4, 20, map[string]any{"buffer_type": "event", "buffer_size_limit_events": 10}},
		{"search", search, 2, 8, map[string]any{"buffer_type": "size", "upload_size_limit_bytes": 1000, "buffer_size_limit_bytes": 1500}},
		{"calls", calls, 3, 10, map[string]any{"buffer_type": "event", "max_decisions_per_second": 5, "upload_size_limit_bytes": 100}},
	}
	f := &fleet{sent: map[[2]string]int{}}
	targets := map[string]string{}
	for _, m := range members {
		logs := uploads(m.limits)
		logs["plugin"] = "regometer" // to count the log's events too
		s := startOPA(t, m.name, control.config(logs))
		f.servers = append(f.servers, s)
		targets[m.name] = s.address
	}
	f.native = startMonitor(t, targets, false, nativeRules, alertRules)
	f.classic = startMonitor(t, targets, true, classicRules, alertRules)
	awaitScrapes(t, f.native, f.classic)

	duration := long(40*time.Second, 15*time.Second)
	f.start = time.Now()
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() { f.servers[i].run(t, m.work, duration, m.clients, m.perSecond) })
	}
	time.Sleep(duration / 2)
	control.activate(t, "two")
	all.Wait()
	for _, s := range f.servers {
		for decision, n := range s.sent {
			f.sent[decision] += n
		}
	}
	f.end = time.Now()
	f.settled = awaitScrapes(t, f.native, f.classic)
	require.False(t, t.Failed())
	f.logged = readDecisions(t, f.servers...)
	return f
}

// testTotals compares counts, which are exact.
func testTotals(t *testing.T, f *fleet) {
	for _, m := range []*monitor{f.native, f.classic} {
		assert.Equal(t, f.sent, m.byLabels(t, "sum by (path, outcome) (opa_decisions_total) > 0", f.settled, [2]string{"path", "outcome"}))
		decisions, failed := 0, 0
		for key, n := range f.sent {
			decisions += n
			if key[1] == "error" {
				failed += n
			}
		}
		unfinished := map[string]int{}
		for key, s := range f.logged.stages {
			if key.path == "" && s.Unfinished > 0 {
				unfinished[key.name] = s.Unfinished
			}
		}
		for query, want := range map[string]map[string]int{
			"sum by (stage) (opa_decision_stage_unfinished_total) > 0": unfinished,
			"sum by (counter) (opa_decision_counters_total)":           f.logged.counters,
			"sum by (source) (opa_decision_received_total) > 0":        {"server": decisions},
			"sum by (code) (opa_decision_errors_total)":                {"eval_builtin_error": failed},
		} {
			got := map[string]int{}
			for _, s := range m.vector(t, query, f.settled) {
				s.Metric.Range(func(l labels.Label) { got[l.Value] = int(s.F) })
			}
			assert.Equal(t, want, got, query)
		}
		for _, family := range []string{"label_overflow", "values_invalid", "plugin_failures"} {
			assert.Zero(t, m.number(t, "sum(opa_decision_"+family+"_total)", f.settled), family)
		}
	}
}

// testRules: Prometheus evaluates the rules without errors. Each recording rule
// records numbers, except those that need a day, half an hour or a collector:
// promtool tests these.
func testRules(t *testing.T, f *fleet) {
	for _, m := range []*monitor{f.native, f.classic} {
		recorded := 0
		for _, rule := range m.rules.Rules() {
			assert.NotEqual(t, rules.HealthBad, rule.Health(), "%s: %v", rule.Name(), rule.LastError())
			if _, ok := rule.(*rules.RecordingRule); !ok || strings.HasSuffix(rule.Name(), "1w") || strings.HasSuffix(rule.Name(), ":increase30m") || strings.Contains(rule.Name(), "_arrived:") {
				continue
			}
			recorded++
			assert.True(t, hasData(m.vector(t, rule.Name(), f.settled)), "%s has recorded nothing", rule.Name())
		}
		assert.GreaterOrEqual(t, recorded, 20, "recording rules")
	}
}

// testLint checks the names and help of our metrics, and the metric that counts
// their series.
func testLint(t *testing.T, f *fleet) {
	for _, s := range f.servers {
		problems, err := promlint.New(strings.NewReader(s.ourFamilies(t))).Lint()
		assert.NoError(t, err)
		assert.Empty(t, problems, s.name)
		s.countSeries(t)
	}
}

// ourFamilies returns the lines of a scrape by text that are not OPA's own.
func (s *opa) ourFamilies(t *testing.T) string {
	ours := regexp.MustCompile(`(?m)^(# \w+ )?(opa_decision|regometer_).*\n`)
	return strings.Join(ours.FindAllString(s.scrape(t), -1), "")
}

// countSeries returns the number of our series in a scrape by text. The server
// must export the same number.
func (s *opa) countSeries(t *testing.T) int {
	series := len(regexp.MustCompile(`(?m)^[^#]`).FindAllString(s.ourFamilies(t), -1))
	assert.EqualValues(t, series, s.gauge(t, "opa_decision_metric_series"), "opa_decision_metric_series")
	return series
}
