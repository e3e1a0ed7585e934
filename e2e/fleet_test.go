// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// A fleet is three servers with different work and two Prometheuses that have
// scraped them: one stores native histograms, the other classic ones.
type fleet struct {
	servers         []*opa
	native, classic *monitor

	sent       map[[2]string]int // decisions by path and outcome
	logged     *decisions
	start, end time.Time // of the work
	settled    time.Time // all of it is stored since then
}

const (
	nativeRules  = root + "/dashboards/recording-rules.yaml"
	classicRules = root + "/dashboards/recording-rules-classic.yaml"
	alertRules   = root + "/dashboards/alerting-rules.yaml"
)

// TestFleet compares what Prometheus knows of a fleet with its decision logs,
// and evaluates the dashboards and rules on it.
func TestFleet(t *testing.T) {
	endToEnd(t)
	f := startFleet(t)
	for name, test := range map[string]func(*testing.T, *fleet){
		"totals":             testTotals,
		"native histograms":  testNativeHistograms,
		"quantiles":          testQuantiles,
		"classic histograms": testClassicHistograms,
		"self times":         testSelfTimes,
		"dashboards":         testDashboards,
		"rules":              testRules,
		"promtool":           testPromtool,
		"pictures":           testPictures,
	} {
		t.Run(name, func(t *testing.T) { test(t, f) })
	}
}

func startFleet(t *testing.T) *fleet {
	t.Helper()
	control := startControl(t)
	// Each decision log loses events in its own way, so that all of OPA's
	// series about them have data.
	reporting := func(limits map[string]any) map[string]any {
		r := map[string]any{"min_delay_seconds": 1, "max_delay_seconds": 2}
		maps.Copy(r, limits)
		return map[string]any{"service": "control", "resource": "logs", "reporting": r}
	}
	members := []struct {
		name      string
		work      workload
		clients   int
		perSecond float64
		logs      map[string]any
	}{
		{"gateway", gateway, 4, 20, reporting(map[string]any{"buffer_type": "event", "buffer_size_limit_events": 10})},
		{"search", search, 2, 8, reporting(map[string]any{"buffer_type": "size", "upload_size_limit_bytes": 1000, "buffer_size_limit_bytes": 1500})},
		{"calls", calls, 3, 10, reporting(map[string]any{"buffer_type": "event", "max_decisions_per_second": 5, "upload_size_limit_bytes": 100})},
	}
	f := &fleet{sent: map[[2]string]int{}}
	targets := map[string]string{}
	for _, m := range members {
		s := startOPA(t, m.name, control.config(m.logs))
		f.servers = append(f.servers, s)
		targets[m.name] = s.address
	}
	f.native = startMonitor(t, targets, monitorOptions{rules: []string{nativeRules, alertRules}})
	f.classic = startMonitor(t, targets, monitorOptions{rules: []string{classicRules, alertRules}, classic: true})
	f.native.awaitScrapes(t)
	f.classic.awaitScrapes(t)

	duration := long(40*time.Second, 15*time.Second)
	if *update {
		duration = 3 * time.Minute
	}
	f.start = time.Now()
	var all sync.WaitGroup
	var mu sync.Mutex
	for i, m := range members {
		all.Go(func() {
			sent := f.servers[i].run(t, m.work, duration, m.clients, m.perSecond)
			mu.Lock()
			defer mu.Unlock()
			for decision, n := range sent {
				f.sent[decision] += n
			}
		})
	}
	time.Sleep(duration / 2)
	control.activate(t, "two")
	all.Wait()
	f.end = time.Now()
	f.settled = f.native.awaitScrapes(t)
	if at := f.classic.awaitScrapes(t); at.After(f.settled) {
		f.settled = at
	}
	if t.Failed() {
		t.FailNow()
	}
	f.logged = readDecisions(t, f.servers...)
	return f
}

// testTotals compares counts, which are exact.
func testTotals(t *testing.T, f *fleet) {
	for _, m := range []*monitor{f.native, f.classic} {
		got, decisions := map[[2]string]int{}, 0
		for _, s := range m.vector(t, "sum by (path, outcome) (opa_decisions_total) > 0", f.settled) {
			got[[2]string{s.Metric.Get("path"), s.Metric.Get("outcome")}] = int(s.F)
			decisions += int(s.F)
		}
		if !maps.Equal(got, f.sent) {
			t.Errorf("decisions by path and outcome: %v\nwant %v", got, f.sent)
		}
		unfinished := map[[2]string]int{}
		for _, s := range m.vector(t, "sum by (stage, cause) (opa_decision_stage_unfinished_total)", f.settled) {
			unfinished[[2]string{s.Metric.Get("stage"), s.Metric.Get("cause")}] = int(s.F)
		}
		if !maps.Equal(unfinished, f.logged.unfinished) {
			t.Errorf("unfinished timers by stage and cause: %v\nwant %v", unfinished, f.logged.unfinished)
		}
		for query, want := range map[string]map[string]uint64{
			"sum by (counter) (opa_decision_counters_total)":    f.logged.counters,
			"sum by (source) (opa_decision_received_total) > 0": {"server": uint64(decisions)},
			`sum by (code) (opa_decision_errors_total)`:         {"eval_builtin_error": uint64(f.logged.errors)},
		} {
			got := map[string]uint64{}
			for _, s := range m.vector(t, query, f.settled) {
				s.Metric.Range(func(l labels.Label) { got[l.Value] = uint64(s.F) })
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s: %v\nwant %v", query, got, want)
			}
		}
		for _, query := range []string{"sum(opa_decision_label_overflow_total)", "sum(opa_decision_values_invalid_total)", "sum(opa_decision_plugin_failures_total)"} {
			if n := m.number(t, query, f.settled); n != 0 {
				t.Errorf("%s is %v", query, n)
			}
		}
	}
}

// testSelfTimes: within the handler nothing is counted twice or left out.
func testSelfTimes(t *testing.T, f *fleet) {
	check := func(query string, match func(stage) bool) {
		var want float64
		for _, ns := range f.logged.of(match) {
			want += float64(ns) / 1e9
		}
		got := f.native.number(t, query, f.settled)
		if ratio := got / want; !(ratio > 0.999 && ratio < 1.001) {
			t.Errorf("%s is %v s, the handler's time is %v s", query, got, want)
		}
	}
	for _, path := range []string{"authz/allow", "catalog/matches", "directory/on_call", "other"} {
		check(`sum(opa_decision_path_self_seconds_total{path="`+path+`"})`, func(s stage) bool { return s == stage{path, "server_handler"} })
	}
	// Ad-hoc queries have no handler's time; all that they have is outside of
	// it.
	var queries float64
	for key, durations := range f.logged.durations {
		if key.path == "(query)" && key.name != "rego_external_resolve" {
			for _, ns := range durations {
				queries += float64(ns) / 1e9
			}
		}
	}
	check(fmt.Sprintf("sum(opa_decision_stage_self_seconds_total) - %v", queries), func(s stage) bool { return s.name == "server_handler" })
}
