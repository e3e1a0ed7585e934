// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regometer/regometer/e2e/harness"
)

// TestHealthyDay: promtool finds no alert that fires on two healthy, noisy days
// of a fleet, and data of each recording rule. The second day is judged by the
// first. There are waves by day and night, servers that come and go with them,
// restarts, lost scrapes, late bundles, refused uploads, and rare paths; a
// deploy makes evaluation slower by a third.
func TestHealthyDay(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files: [%q, %q]\nevaluation_interval: %s\ntests:\n- interval: 1m\n", nativeRules, alertRules, long("1m", "2m"))
	fmt.Fprintf(&b, "  promql_expr_test:\n")
	queries := []string{fmt.Sprintf(`count_over_time(ALERTS{alertstate="firing"}[%dm])`, healthyMinutes)}
	var order []string
	for _, g := range append(readRules(t, nativeRules), readRules(t, alertRules)...) {
		order = append(order, g.Name)
		for _, r := range g.Rules {
			if r.Record != "" && !strings.Contains(r.Record, "_self_") && !strings.Contains(r.Record, "_arrived:") {
				queries = append(queries, fmt.Sprintf("absent(%s == %[1]s)", r.Record)) // a number equals itself, NaN does not
			}
		}
	}
	for _, query := range queries {
		fmt.Fprintf(&b, "  - {expr: '%s', eval_time: %dm, exp_samples: []}\n", query, healthyMinutes-1)
	}
	fmt.Fprintf(&b, "  input_series:\n")
	series := healthySeries()
	for _, name := range slices.Sorted(maps.Keys(series)) {
		fmt.Fprintf(&b, "  - {series: '%s', values: '%s'}\n", name, strings.Join(series[name], " "))
	}
	fmt.Fprintf(&b, "group_eval_order: [%s]\n", strings.Join(order, ", "))
	file := filepath.Join(t.TempDir(), "healthy.yaml")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o666))
	harness.Promtool(t, "test", "rules", file)
}

const healthyMinutes = 2 * 24 * 60

// A healthyFleet has the series of a Prometheus that scrapes once a minute: a
// value for each minute, in the notation of promtool, by series.
type healthyFleet struct {
	random *rand.Rand
	series map[string][]string
}

// A healthyPath is asked perSecond times a second at noon.
type healthyPath struct {
	name              string
	perSecond, denied float64
	evaluation        float64 // seconds
}

var healthyPaths = []healthyPath{
	{"authz/allow", 50, 0.15, 40e-6},
	{"authz/admin", 3, 0.4, 90e-6},
	{"catalog/matches", 5, 0, 3e-3},
	{"rare/report", 0.02, 0.9, 20e-3},
	{"other", 0.3, 0, 15e-6},
}

func healthySeries() map[string][]string {
	f := &healthyFleet{random: rand.New(rand.NewPCG(1, 2)), series: map[string][]string{}}
	for i := range 5 {
		// Two more servers in the day time.
		f.server(fmt.Sprintf(`job="opa",instance="server-%d"`, i), 0.25, 190+1240*i, i >= 3)
	}
	f.server(`job="opa-at-the-edge",instance="edge"`, 0.004, 1000, false)
	return f.series
}

// A healthyServer counts as OPA does.
type healthyServer struct {
	counters   map[string]float64
	histograms map[string][]float64 // by buckets of schema 0 that begin at 2^-20 s
	sums       map[string]float64
}

// server adds the series of a server that answers a share of all requests. It
// restarts in a certain minute and every 20 hours from then on.
func (f *healthyFleet) server(labels string, share float64, restart int, byDay bool) {
	var s healthyServer
	bundle, lastOK, uploadFails := 0, 0, false
	series := map[string][]string{} // without the server's labels
	for minute := range healthyMinutes {
		hour := math.Mod(float64(minute)/60, 24)
		away := byDay && (hour < 8 || hour >= 19.5)
		restarts := minute%1200 == restart%1200 || minute%1200 == restart%1200+1
		if away || restarts || minute == 0 {
			s = healthyServer{map[string]float64{}, map[string][]float64{}, map[string]float64{}}
		}
		samples := map[string]string{}
		switch lost := f.random.Float64() < 0.01; { // a scrape takes too long; the server goes on
		case away: // service discovery does not know the server
		case restarts:
			samples["up"] = "0"
		default:
			// A bundle every six hours; one request in fifty fails.
			if f.random.Float64() > 0.02 {
				lastOK, bundle = minute, max(bundle, minute/360)
			}
			// Uploads every eight minutes. One in ten is refused, and tried
			// again soon.
			due := minute%8 == 0 || uploadFails
			if due {
				uploadFails = f.random.Float64() < 0.1
			}
			f.work(&s, minute, hour, share)
			if !uploadFails && minute%8 == 0 {
				s.counters["decision_logs_chunks_uploaded_total"] += 1 + f.poisson(1)
			} else if uploadFails {
				s.counters["decision_logs_chunks_upload_failed_total"]++
			}
			samples["up"] = "0"
			if !lost {
				samples = f.scrape(&s, minute, bundle, lastOK, uploadFails)
			}
		}
		addMinute(series, minute, samples)
	}
	for name, values := range series {
		f.series[labelled(name, labels)] = values
	}
}

// deployed reports whether a minute is after the deploy, at noon of the second
// day.
func deployed(minute int) bool { return minute > 36*60 }

// work counts the decisions of a minute.
func (f *healthyFleet) work(s *healthyServer, minute int, hour, share float64) {
	// From 5 % at night to all at noon, and up to a fifth more or less.
	wave := 0.05
	if hour >= 5 && hour <= 22 {
		wave += 0.95 * math.Pow(math.Max(0, math.Sin(math.Pi*(hour-5)/17)), 2)
	}
	wave *= 0.8 + 0.4*f.random.Float64()
	for _, p := range healthyPaths {
		n := f.poisson(60 * p.perSecond * share * wave)
		if n == 0 {
			continue
		}
		failed, cancelled := f.poisson(0.0005*n), f.poisson(0.003*n)
		// More denials in the evening.
		denied := math.Min(n, f.poisson(n*p.denied*(0.8+0.4*f.random.Float64()+0.2*math.Max(0, hour-17)/7)))
		outcomes := map[string]float64{"allowed": math.Max(0, n-denied-failed-cancelled), "denied": denied, "error": failed, "cancelled": cancelled}
		if p.denied == 0 {
			outcomes["result"], outcomes["allowed"] = outcomes["allowed"], 0
		}
		for _, outcome := range []string{"allowed", "denied", "result", "undefined", "error", "cancelled"} {
			s.counters[fmt.Sprintf("opa_decisions_total{path=%q,outcome=%q", p.name, outcome)] += outcomes[outcome]
		}
		s.counters[`opa_decision_errors_total{code="eval_builtin_error"`] += failed
		s.counters["opa_decision_log_events_total"] += n
		s.counters[`http_request_duration_seconds_count{handler="v1/data",method="post",code="200"`] += n - failed
		s.counters[`http_request_duration_seconds_count{handler="v1/data",method="post",code="500"`] += failed
		// Slower by a third since the deploy, and under load.
		took := p.evaluation * (1 + 0.3*wave)
		if deployed(minute) {
			took *= 1.33
		}
		f.observe(s, fmt.Sprintf("opa_decision_path_duration_seconds{path=%q,stage=\"rego_query_eval\"", p.name), n, took)
		f.observe(s, `opa_decision_stage_duration_seconds{stage="server_handler"`, n, took+200e-6)
	}
	s.counters[`http_request_duration_seconds_count{handler="health",method="get",code="200"`] += 12
	s.counters[`http_request_duration_seconds_count{handler="v1/data",method="put",code="204"`] += f.poisson(3)
	s.counters[`http_request_duration_seconds_count{handler="v1/data",method="post",code="400"`] += f.poisson(20)
	s.counters[`opa_decision_label_overflow_total{kind="path"`] += f.poisson(0.5)
	s.counters[`opa_decision_plugin_failures_total{cause="panic"`] += 0
	s.counters[`opa_decision_plugin_failures_total{cause="next"`] += 0
}

// poisson returns a random number with a mean.
func (f *healthyFleet) poisson(mean float64) float64 {
	if mean > 30 {
		return math.Max(0, math.Round(mean+math.Sqrt(mean)*f.random.NormFloat64()))
	}
	n, limit := 0.0, math.Exp(-mean)
	for p := f.random.Float64(); p > limit; p *= f.random.Float64() {
		n++
	}
	return n
}

const buckets = 22 // from 2^-20 s on

// observe adds n durations around one. One in 500 takes ten times as long.
func (f *healthyFleet) observe(s *healthyServer, name string, n, seconds float64) {
	if s.histograms[name] == nil {
		s.histograms[name] = make([]float64, buckets)
	}
	const samples = 20
	for range samples {
		took := seconds * math.Exp(0.5*f.random.NormFloat64())
		if f.random.Float64() < 0.002 {
			took *= 10
		}
		i := min(max(int(math.Ceil(math.Log2(took)))+20, 0), buckets-1)
		s.histograms[name][i] += n / samples
		s.sums[name] += took * n / samples
	}
}

// scrape returns the samples of a server, by names without their closing brace.
func (f *healthyFleet) scrape(s *healthyServer, minute, bundle, lastOK int, uploadFails bool) map[string]string {
	version, status := "1.0.0", `code="",http_code=""`
	if deployed(minute) {
		version = "1.1.0"
	}
	if uploadFails {
		status = `code="decision_log_error",http_code="503"`
	}
	values := map[string]float64{
		"up": 1, "opa_info{version=\"1.2.3\"": 1,
		`regometer_build_info{opa_version="1.2.3",dropin="true",version="` + version + `"`:       1,
		`last_bundle_request{name="policy"`:                                                      float64(minute) * 60e9,
		`last_success_bundle_request{name="policy"`:                                              float64(lastOK) * 60e9,
		`last_success_bundle_download{name="policy"`:                                             float64(bundle) * 360 * 60e9,
		`decision_logs_buffer_size_bytes`:                                                        float64(1000 * (minute % 8)),
		fmt.Sprintf(`last_success_bundle_activation{name="policy",active_revision="%d"`, bundle): float64(bundle)*360*60e9 + 3e9,
		"decision_logs_status_gauge{" + status:                                                   1,
	}
	maps.Copy(values, s.counters)
	samples := map[string]string{}
	for name, counts := range s.histograms {
		total := 0.0
		for _, n := range counts {
			total += n
		}
		samples[name] = fmt.Sprintf("{{schema:0 offset:-20 count:%v sum:%v buckets:%v}}", total, s.sums[name], counts)
	}
	for name, value := range values {
		samples[name] = fmt.Sprint(value)
	}
	return samples
}

// addMinute adds a minute to all series of a server. A series without a sample
// becomes stale.
func addMinute(series map[string][]string, minute int, samples map[string]string) {
	for name, value := range samples {
		for len(series[name]) < minute {
			series[name] = append(series[name], "_")
		}
		series[name] = append(series[name], value)
	}
	for name, values := range series {
		if len(values) == minute {
			value := "_"
			if minute > 0 && values[minute-1] != "_" && values[minute-1] != "stale" {
				value = "stale"
			}
			series[name] = append(values, value)
		}
	}
}

// labelled adds labels to a series such as name or name{a="b".
func labelled(series, labels string) string {
	name, own, _ := strings.Cut(series, "{")
	return name + "{" + labels + "," + own + "}"
}
