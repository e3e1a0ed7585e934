// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/rules"
)

// TestHealthyDay: no alert fires on two healthy, noisy days of a fleet. The
// second is judged by the first. There are waves by day and night, servers that
// come and go with them, restarts, lost scrapes, bundles that are late, uploads
// that are refused, and paths that hardly anybody asks; a deploy makes
// evaluation slower by a third.
func TestHealthyDay(t *testing.T) {
	t.Parallel()
	for _, classic := range []bool{false, true} {
		test := ruleTests(t)["faults.yaml"] // for its rules and groups
		name := "native"
		if classic {
			test, name = test.inClassicForm(), "classic"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			series := healthyDays(classic)
			fired := map[string]bool{}
			test.EvaluationInterval = model.Duration(long(time.Minute, 2*time.Minute))
			input := "load 1m\n"
			for _, s := range series {
				input += "  " + s.name + " " + strings.Join(s.values, " ") + "\n"
			}
			end := (days*24 - 1) * time.Hour
			test.evaluate(t, input, end, func(now time.Duration, all []rules.Rule, ask query) {
				for _, a := range firing(all) {
					if text := fmt.Sprint(a.Labels); !fired[text] {
						fired[text] = true
						t.Errorf("after %v: %s %s", now, a.Labels, a.Annotations.Get("summary"))
					}
				}
				for _, rule := range all {
					if rule, ok := rule.(*rules.RecordingRule); ok && now == end && !strings.Contains(rule.Name(), "_self_") && !hasData(ask(rule.Name())) {
						t.Errorf("there is no %s", rule.Name())
					}
				}
			})
			if testing.Short() {
				return
			}
			runPromtool(t, "", "test", "rules", writeHealthyDays(t, test, series))
		})
	}
}

// writeHealthyDays writes the same for promtool.
func writeHealthyDays(t *testing.T, test ruleTest, series []*testSeries) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files:\n")
	for _, file := range test.RuleFiles {
		absolute, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "  - %q\n", absolute)
	}
	fmt.Fprintf(&b, "evaluation_interval: 1m\ngroup_eval_order: [%s]\ntests:\n  - interval: 1m\n    input_series:\n", strings.Join(test.GroupEvalOrder, ", "))
	for _, s := range series {
		fmt.Fprintf(&b, "      - series: '%s'\n        values: '%s'\n", s.name, strings.Join(s.values, " "))
	}
	fmt.Fprintf(&b, "    promql_expr_test:\n      - expr: count by (alertname) (count_over_time(ALERTS{alertstate=\"firing\"}[%dd]))\n        eval_time: %dm\n        exp_samples: []\n",
		days, days*24*60-1)
	file := filepath.Join(t.TempDir(), "healthy.yaml")
	if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

const days = 2

// A testSeries has a value for each minute, in the notation of promtool.
type testSeries struct {
	name   string
	values []string
}

// A healthy fleet is what a Prometheus that scrapes once a minute would see.
type healthyFleet struct {
	random  *rand.Rand
	classic bool
	minutes int
	series  map[string]*testSeries
}

// A healthyPath is asked so often a second at noon.
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

// boundsInTest are those of classic histograms, in seconds.
var boundsInTest = []float64{1e-5, 5e-5, 1e-4, 5e-4, 0.001, 0.005, 0.01, 0.05, 0.1, 1, 10}

func healthyDays(classic bool) []*testSeries {
	f := &healthyFleet{random: rand.New(rand.NewPCG(1, 2)), classic: classic, minutes: days * 24 * 60, series: map[string]*testSeries{}}
	for i := range 5 {
		// Two more servers in the day time.
		f.server("opa", fmt.Sprintf("server-%d", i), 0.25, 190+1240*i, i >= 3)
	}
	f.server("opa-at-the-edge", "edge", 0.004, 1000, false)
	var all []*testSeries
	for _, s := range f.series {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *testSeries) int { return strings.Compare(a.name, b.name) })
	return all
}

// A healthyServer counts as OPA does.
type healthyServer struct {
	counters   map[string]float64
	histograms map[string][]float64 // by buckets of schema 0 that begin at 2^-20 s
	sums       map[string]float64
}

// server adds the series of a server that answers a share of what is asked, and
// restarts at a minute and after each 20 hours from then on.
func (f *healthyFleet) server(job, instance string, share float64, restart int, byDay bool) {
	var s healthyServer
	begin := func() { s = healthyServer{map[string]float64{}, map[string][]float64{}, map[string]float64{}} }
	begin()
	bundle, lastOK := 0, 0
	uploadFails := false
	for minute := range f.minutes {
		hour := math.Mod(float64(minute)/60, 24)
		deployed := minute > 36*60 // 12 o'clock of the second day, one server after the other
		switch {
		case byDay && (hour < 8 || hour >= 19.5):
			begin()
			f.miss(job, instance, minute)
			continue
		case minute%1200 == restart%1200, minute%1200 == restart%1200+1:
			begin()
			f.down(job, instance, minute)
			continue
		case f.random.Float64() < 0.01:
			f.down(job, instance, minute) // a scrape takes too long; the server goes on
		}
		// From 5 % at night to all at noon, and up to a fifth more or less.
		wave := 0.05 + 0.95*math.Pow(math.Max(0, math.Sin(math.Pi*(hour-5)/17)), 2)
		if hour < 5 || hour > 22 {
			wave = 0.05
		}
		wave *= 0.8 + 0.4*f.random.Float64()
		for _, p := range healthyPaths {
			n := f.poisson(60 * p.perSecond * share * wave)
			if n == 0 {
				continue
			}
			failed := f.poisson(0.0005 * n)
			cancelled := f.poisson(0.003 * n)
			// More denials in the evening.
			denied := math.Min(n, f.poisson(n*p.denied*(0.8+0.4*f.random.Float64()+0.2*math.Max(0, hour-17)/7)))
			outcomes := map[string]float64{"allowed": math.Max(0, n-denied-failed-cancelled), "denied": denied, "error": failed, "cancelled": cancelled}
			if p.denied == 0 {
				outcomes["result"], outcomes["allowed"] = outcomes["allowed"], 0
			}
			for _, outcome := range []string{"allowed", "denied", "result", "undefined", "error", "cancelled"} {
				s.counters[fmt.Sprintf("opa_decisions_total{path=%q,outcome=%q}", p.name, outcome)] += outcomes[outcome]
			}
			s.counters[`opa_decision_errors_total{code="eval_builtin_error"}`] += failed
			s.counters[`http_request_duration_seconds_count{handler="v1/data",method="post",code="200"}`] += n - failed
			s.counters[`http_request_duration_seconds_count{handler="v1/data",method="post",code="500"}`] += failed
			// Slower by a third since the deploy, and under load.
			took := p.evaluation * (1 + 0.3*wave)
			if deployed {
				took *= 1.33
			}
			f.observe(&s, fmt.Sprintf("opa_decision_path_duration_seconds{path=%q,stage=\"rego_query_eval\"}", p.name), n, took)
			f.observe(&s, `opa_decision_stage_duration_seconds{stage="server_handler"}`, n, took+200e-6)
		}
		s.counters[`http_request_duration_seconds_count{handler="health",method="get",code="200"}`] += 12
		s.counters[`http_request_duration_seconds_count{handler="v1/data",method="put",code="204"}`] += f.poisson(3)
		s.counters[`http_request_duration_seconds_count{handler="v1/data",method="post",code="400"}`] += f.poisson(20)
		s.counters[`opa_decision_label_overflow_total{kind="path"}`] += f.poisson(0.5)
		s.counters[`opa_decision_plugin_failures_total{cause="panic"}`] += 0
		s.counters[`opa_decision_plugin_failures_total{cause="next"}`] += 0

		// A bundle each six hours; one request in fifty fails.
		if f.random.Float64() > 0.02 {
			lastOK = minute
			if now := minute / 360; now >= bundle {
				bundle = now
			}
		}
		gauges := map[string]float64{
			fmt.Sprintf("regometer_build_info{version=%q,opa_version=\"1.2.3\",dropin=\"true\"}", map[bool]string{false: "1.0.0", true: "1.1.0"}[deployed]): 1,
			"opa_info{version=\"1.2.3\"}":                                                             1,
			`last_bundle_request{name="policy"}`:                                                      float64(minute) * 60e9,
			`last_success_bundle_request{name="policy"}`:                                              float64(lastOK) * 60e9,
			`last_success_bundle_download{name="policy"}`:                                             float64(bundle) * 360 * 60e9,
			`decision_logs_buffer_size_bytes`:                                                         float64(1000 * (minute % 8)),
			fmt.Sprintf(`last_success_bundle_activation{name="policy",active_revision="%d"}`, bundle): float64(bundle)*360*60e9 + 3e9,
		}
		// Uploads each eight minutes, of which one in ten is refused: it is
		// tried again soon.
		if minute%8 == 0 || uploadFails {
			uploadFails = f.random.Float64() < 0.1
			if uploadFails {
				s.counters["decision_logs_chunks_upload_failed_total"]++
			} else {
				s.counters["decision_logs_chunks_uploaded_total"] += 1 + f.poisson(2*wave)
			}
		}
		if uploadFails {
			gauges[`decision_logs_status_gauge{code="decision_log_error",http_code="503"}`] = 1
		} else {
			gauges[`decision_logs_status_gauge{code="",http_code=""}`] = 1
		}
		f.scrape(job, instance, minute, &s, gauges)
	}
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

// observe adds n durations around one, one in 500 of which takes ten times as
// long.
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

// scrape stores what the server has, unless the scrape is lost.
func (f *healthyFleet) scrape(job, instance string, minute int, s *healthyServer, gauges map[string]float64) {
	up := f.get("up", job, instance)
	if len(up.values) > minute {
		return
	}
	up.set(minute, "1")
	for _, values := range []map[string]float64{gauges, s.counters} {
		for name, value := range values {
			f.get(name, job, instance).set(minute, fmt.Sprint(value))
		}
	}
	for name, counts := range s.histograms {
		total := 0.0
		for _, n := range counts {
			total += n
		}
		if !f.classic {
			f.get(name, job, instance).set(minute, fmt.Sprintf("{{schema:0 offset:-20 count:%v sum:%v buckets:%v}}", total, s.sums[name], counts))
			continue
		}
		family, labels, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
		f.get(family+"_count{"+labels+"}", job, instance).set(minute, fmt.Sprint(total))
		f.get(family+"_sum{"+labels+"}", job, instance).set(minute, fmt.Sprint(s.sums[name]))
		f.get(family+"_bucket{"+labels+`,le="+Inf"}`, job, instance).set(minute, fmt.Sprint(total))
		for _, bound := range boundsInTest {
			// Evenly within a bucket.
			below := 0.0
			for i, n := range counts {
				upper := math.Exp2(float64(i - 20))
				below += n * min(1, max(0, 2*bound/upper-1))
			}
			f.get(fmt.Sprintf("%s_bucket{%s,le=\"%v\"}", family, labels, bound), job, instance).set(minute, fmt.Sprint(below))
		}
	}
	f.end(job, instance, minute)
}

// down is a scrape that fails.
func (f *healthyFleet) down(job, instance string, minute int) {
	f.get("up", job, instance).set(minute, "0")
	f.end(job, instance, minute)
}

// miss is a minute in which service discovery does not know the server.
func (f *healthyFleet) miss(job, instance string, minute int) { f.end(job, instance, minute) }

// end makes series stale that the server no longer has.
func (f *healthyFleet) end(job, instance string, minute int) {
	suffix := serverLabels(job, instance)
	for name, s := range f.series {
		if strings.HasSuffix(name, suffix) && len(s.values) == minute {
			value := "_"
			if minute > 0 && s.values[minute-1] != "_" && s.values[minute-1] != "stale" {
				value = "stale"
			}
			s.values = append(s.values, value)
		}
	}
}

func serverLabels(job, instance string) string {
	return fmt.Sprintf("job=%q,instance=%q}", job, instance)
}

func (f *healthyFleet) get(name, job, instance string) *testSeries {
	key := name + "{" + serverLabels(job, instance)
	if strings.HasSuffix(name, "}") {
		key = strings.TrimSuffix(name, "}") + "," + serverLabels(job, instance)
	}
	if f.series[key] == nil {
		f.series[key] = &testSeries{name: key}
	}
	return f.series[key]
}

func (s *testSeries) set(minute int, value string) {
	for len(s.values) < minute {
		s.values = append(s.values, "_")
	}
	s.values = append(s.values, value)
}
