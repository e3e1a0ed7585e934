// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/regometer/regometer/e2e/harness"
)

// testDashboards: each query of both dashboards has data at the end of the
// work, and over its time.
func testDashboards(t *testing.T, f *fleet) {
	for file, m := range map[string]*monitor{"opa-decisions.json": f.native, "opa-decisions-classic.json": f.classic} {
		for _, target := range dashboardTargets(t, file) {
			if target.where == "annotation Revision active" || target.collected {
				continue // the servers have status.prometheus and no collector
			}
			query := allChosen.fillIn(target.expr, 4*scrapeInterval)
			assert.True(t, hasData(m.vector(t, query, f.end)), "%s, %s: no data from\n%s", file, target.where, query)
			assert.NotEmpty(t, m.matrix(t, query, f.start, f.end, scrapeInterval), "%s, %s: no data over time from\n%s", file, target.where, query)
		}
	}
}

// A dashboard is the part of a Grafana dashboard that the tests need.
type dashboard struct {
	Panels     []panel `json:"panels"`
	Templating struct {
		List []struct {
			Name  string          `json:"name"`
			Type  string          `json:"type"`
			Query json.RawMessage `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []struct {
			Name string `json:"name"`
			Expr string `json:"expr"`
		} `json:"list"`
	} `json:"annotations"`
}

type panel struct {
	Title   string `json:"title"`
	Targets []struct {
		RefID        string `json:"refId"`
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
		Interval     string `json:"interval"`
	} `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Collapsed bool    `json:"collapsed"`
	Panels    []panel `json:"panels"` // of a collapsed row
}

func (p panel) unit() string { return p.FieldConfig.Defaults.Unit }

func readDashboard(t *testing.T, file string) (d dashboard) {
	require.NoError(t, json.Unmarshal([]byte(harness.Read(t, "dashboards/"+file)), &d), file)
	return d
}

// A dashboardTarget is a query of a dashboard.
type dashboardTarget struct {
	where, expr string
	step        time.Duration // between two points, if the dashboard shows an hour
	collected   bool          // the query needs the page of regometer collect
}

var ofCollector = regexp.MustCompile(`"(Uploads .*|Servers and uploads.*|.* of the target|Memory)"|(passed on|Left out)", query C|good request", query B`)

// usualStep is the interval that Grafana assumes between scrapes, and leaves
// between two points of a query that has no minimum step.
const usualStep = 15 * time.Second

// dashboardTargets returns the queries of panels, variables and annotations.
func dashboardTargets(t *testing.T, file string) (all []dashboardTarget) {
	d := readDashboard(t, file)
	panels := d.Panels
	for _, row := range d.Panels {
		assert.Equal(t, row.Collapsed, len(row.Panels) > 0, "panels within %q", row.Title)
		panels = append(panels, row.Panels...)
	}
	for _, p := range panels {
		for _, q := range p.Targets {
			step, err := time.ParseDuration(cmp.Or(q.Interval, usualStep.String()))
			require.NoError(t, err)
			where := fmt.Sprintf("panel %q, query %s", p.Title, q.RefID)
			all = append(all, dashboardTarget{where, q.Expr, step, ofCollector.MatchString(where)})
		}
	}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		var q struct {
			Query string `json:"query"`
		}
		require.NoError(t, json.Unmarshal(v.Query, &q), v.Name)
		parts := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(q.Query)
		require.NotNil(t, parts, "variable %s: %s", v.Name, q.Query)
		query := fmt.Sprintf(`group by (%s) (%s) and on (%[1]s) group by (%[1]s) ({%[1]s!=""})`, parts[2], parts[1])
		all = append(all, dashboardTarget{"variable " + v.Name, query, usualStep, false})
	}
	for _, a := range d.Annotations.List {
		all = append(all, dashboardTarget{"annotation " + a.Name, a.Expr, usualStep, false})
	}
	return all
}

// A choice has the values of a dashboard's variables, in Grafana's notation.
type choice struct{ name, namespace, job, instance, path, stage string }

var allChosen = choice{"all", "opa", ".*", ".*", ".*", ".*"}

// fillIn replaces the variables in a query, as Grafana does.
func (c choice) fillIn(query string, window time.Duration) string {
	return strings.NewReplacer(
		"$__rate_interval", fmt.Sprintf("%dms", window.Milliseconds()),
		"${namespace}", c.namespace, "$job", c.job, "$instance", c.instance, "$path", c.path, "$stage", c.stage,
	).Replace(query)
}

// TestScrapeIntervals: a dashboard that shows an hour has no gaps with the
// documented scrape intervals and with 10 to 60 s, for several choices of its
// variables. One choice has no collector.
func TestScrapeIntervals(t *testing.T) {
	t.Parallel()
	choices := []choice{
		allChosen,
		{"one", "opa", "opa", "server:8181", "authz/allow", "rego_query_eval"},
		{"two, another namespace", "acme", "(opa|web)", "(server:8181|collector:18191)", `(authz/allow|\\\\(query\\\\))`, "(rego_query_eval|server_handler)"},
	}
	start := time.Unix(0, 0).Add(time.Hour)
	end := start.Add(time.Hour)
	intervals := append(documentedIntervals(t), 10*time.Second, 15*time.Second, time.Minute)
	slices.Sort(intervals)
	for _, interval := range slices.Compact(intervals) {
		for file, classic := range map[string]bool{"opa-decisions.json": false, "opa-decisions-classic.json": true} {
			t.Run(fmt.Sprint(file, "/", interval), func(t *testing.T) {
				t.Parallel()
				targets := dashboardTargets(t, file)
				assert.GreaterOrEqual(t, len(targets), 50)
				monitors := map[string]*monitor{}
				for _, namespace := range []string{"opa", "acme"} {
					load := fmt.Sprintf("load %v\n%s", interval, scrapedSeries(namespace, classic, interval, 2*time.Hour))
					monitors[namespace] = newMonitor(promqltest.LoadedStorage(t, load))
				}
				for _, c := range choices {
					for _, target := range targets {
						query := c.fillIn(target.expr, 4*target.step) // $__rate_interval has four steps
						require.NotContains(t, query, "$", "%s: a variable is left", target.where)
						gaps, want := monitors[c.namespace].gaps(t, query, start, end, target.step), 0
						if target.collected && c.name == "one" {
							want = int(end.Sub(start)/target.step) + 1
						}
						assert.Equal(t, want, gaps, "points without data in %s, chosen: %s, of\n%s", target.where, c.name, query)
					}
				}
			})
		}
	}
}

// gaps evaluates a query over time and returns the number of points without
// data.
func (m *monitor) gaps(t *testing.T, query string, start, end time.Time, step time.Duration) (missing int) {
	points := map[int64]bool{}
	for _, s := range m.matrix(t, query, start, end, step) {
		for _, p := range s.Floats {
			points[p.T] = points[p.T] || !math.IsNaN(p.F)
		}
		for _, p := range s.Histograms {
			points[p.T] = true
		}
	}
	for at := start; !at.After(end); at = at.Add(step) {
		if !points[at.UnixMilli()] {
			missing++
		}
	}
	return missing
}

// labelled adds labels to a series such as name or name{a="b".
func labelled(series, labels string) string {
	name, own, _ := strings.Cut(series, "{")
	return name + "{" + labels + "," + own + "}"
}

// scrapedSeries returns the series of a server with a bundle, a decision log
// and two paths, and of a collector, in promtool's notation.
func scrapedSeries(namespace string, classic bool, interval, length time.Duration) string {
	var b strings.Builder
	instance := "server:8181"
	add := func(series, first, perSample string) {
		fmt.Fprintf(&b, "  %s %s+%sx%d\n", labelled(series, fmt.Sprintf(`job="opa",instance=%q`, instance)), first, perSample, length/interval)
	}
	counter := func(series string, perSecond float64) { add(series, "0", fmt.Sprint(perSecond*interval.Seconds())) }
	histogram := func(name, labels string) {
		if !classic {
			add(name+"{"+labels, "{{count:0 sum:0 buckets:[0 0 0]}}", "{{count:60 sum:60 buckets:[10 20 30]}}")
			return
		}
		counter(name+"_count{"+labels, 10)
		counter(name+"_sum{"+labels, 0.1)
		for bound, perSecond := range map[string]float64{"0.001": 5, "0.01": 8, "0.1": 9, "+Inf": 10} {
			counter(name+`_bucket{le="`+bound+`",`+labels, perSecond)
		}
	}
	decision := namespace + "_decision"
	for _, path := range []string{"authz/allow", "(query)"} {
		for _, outcome := range []string{"allowed", "denied", "result", "undefined", "error", "cancelled"} {
			counter(fmt.Sprintf("%ss_total{path=%q,outcome=%q", decision, path, outcome), 2)
		}
		for _, stage := range []string{"server_handler", "rego_query_eval"} {
			labels := fmt.Sprintf("path=%q,stage=%q", path, stage)
			histogram(decision+"_path_duration_seconds", labels)
			counter(decision+"_path_self_seconds_total{"+labels, 0.01)
		}
	}
	for _, stage := range []string{"server_handler", "rego_query_eval", "rego_builtin_http_send"} {
		labels := fmt.Sprintf("stage=%q", stage)
		histogram(decision+"_stage_duration_seconds", labels)
		counter(decision+"_stage_self_seconds_total{"+labels, 0.01)
		for _, cause := range []string{"query", "failed", "unknown"} {
			counter(decision+"_stage_unfinished_total{"+labels+`,cause="`+cause+`"`, 1)
		}
	}
	for _, series := range []string{
		decision + `_errors_total{code="eval_conflict_error"`, decision + `_counters_total{counter="rego_builtin_http_send_network_requests"`,
		decision + `_label_overflow_total{kind="path"`, decision + `_values_invalid_total{reason="negative"`,
		decision + `_plugin_failures_total{cause="next"`, decision + `_http_send_failures_total{cause="timeout"`, decision + `_received_total{source="server"`,
		decision + "_labels_lost_total", decision + "_log_events_total",
		`http_request_duration_seconds_count{handler="v1/data",method="post",code="200"`,
		"decision_logs_chunks_uploaded_total", "decision_logs_chunks_upload_failed_total",
		"decision_logs_dropped_rate_limit_exceeded_total", "decision_logs_dropped_buffer_size_limit_exceeded_total",
		"decision_logs_dropped_buffer_size_limit_bytes_exceeded_total", "decision_logs_encoding_failure_total",
	} {
		counter(series, 1)
	}
	for _, series := range []string{
		decision + `_policy_paths{label="own"`, decision + `_policy_paths{label="merged"`, decision + `_policy_paths{label="other"`,
		decision + "_metric_series", namespace + `_policy_info{bundle="policy",revision="one"`, `regometer_build_info{version="1.0.0",opa_version="1.2.3",dropin="true"`,
		`last_success_bundle_activation{name="policy",active_revision="one"`, `last_success_bundle_request{name="policy"`,
		"decision_logs_buffer_size_events", "decision_logs_buffer_size_bytes", "opa_info",
	} {
		add(series, "7", "0")
	}
	instance = "collector:18191"
	for _, series := range []string{
		decision + `s_total{path="authz/allow",outcome="allowed"`,
		"regometer_collect_bodies_counted_total", "regometer_collect_bodies_repeated_total", `regometer_collect_bodies_refused_total{reason="busy"`,
		`regometer_collect_bodies_uncounted_total{reason="gzip"`, `regometer_collect_bodies_lost_total{reason="gzip"`,
		`regometer_collect_other_requests_total{kind="status"`, `regometer_collect_event_problems_total{kind="too_long"`,
	} {
		counter(series, 1)
	}
	histogram("regometer_collect_target_duration_seconds", `status="2xx"`)
	for _, series := range []string{
		"regometer_collect_servers", "regometer_collect_bodies_in_progress", "regometer_collect_waiting_bytes",
		`regometer_collect_policy_timestamp_seconds{source="policy"`, "process_resident_memory_bytes",
	} {
		add(series, "7", "0")
	}
	return b.String()
}

// TestQuietServer: panels about what a healthy server need not have show 0.
func TestQuietServer(t *testing.T) {
	t.Parallel()
	absent := regexp.MustCompile("(?m)^.*(_errors_total|rego_builtin_http_send|_unfinished_total|decision_logs_[^b]).*\n")
	for file, classic := range map[string]bool{"opa-decisions.json": false, "opa-decisions-classic.json": true} {
		series := absent.ReplaceAllString(scrapedSeries("opa", classic, time.Minute, time.Hour), "")
		m := newMonitor(promqltest.LoadedStorage(t, "load 1m\n"+series))
		for _, target := range dashboardTargets(t, file) {
			query := allChosen.fillIn(target.expr, 4*target.step)
			assert.True(t, hasData(m.vector(t, query, time.Unix(1800, 0))), "%s, %s: no data from\n%s", file, target.where, query)
		}
	}
}
