// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
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
			if strings.HasPrefix(target.where, `panel "Unfinished timers"`) {
				continue // there are none on a healthy server
			}
			query := allChosen.fillIn(target.expr, 4*scrapeInterval)
			assert.True(t, hasData(m.vector(t, query, f.end)), "%s, %s: no data from\n%s", file, target.where, query)
			assert.NotEmpty(t, m.matrix(t, query, f.start, f.end, scrapeInterval), "%s, %s: no data over time from\n%s", file, target.where, query)
		}
	}
}

// A dashboard has the parts of Grafana's dashboards that the tests need.
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
	Panels []json.RawMessage `json:"panels"`
}

func (p panel) unit() string { return p.FieldConfig.Defaults.Unit }

func readDashboard(t *testing.T, file string) (d dashboard) {
	require.NoError(t, json.Unmarshal([]byte(harness.Read(t, "dashboards/"+file)), &d), file)
	return d
}

// A dashboardTarget is a query of a dashboard.
type dashboardTarget struct {
	where, expr string
	minStep     time.Duration
}

// dashboardTargets returns the queries of panels, variables and annotations.
func dashboardTargets(t *testing.T, file string) (all []dashboardTarget) {
	d := readDashboard(t, file)
	for _, p := range d.Panels {
		assert.Empty(t, p.Panels, "panels within %q are not tested", p.Title)
		for _, q := range p.Targets {
			var minStep time.Duration
			if q.Interval != "" {
				var err error
				minStep, err = time.ParseDuration(q.Interval)
				require.NoError(t, err)
			}
			all = append(all, dashboardTarget{fmt.Sprintf("panel %q, query %s", p.Title, q.RefID), q.Expr, minStep})
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
		all = append(all, dashboardTarget{where: "variable " + v.Name, expr: query})
	}
	for _, a := range d.Annotations.List {
		all = append(all, dashboardTarget{where: "annotation " + a.Name, expr: a.Expr})
	}
	return all
}

// A choice has the values of a dashboard's variables, as Grafana writes them
// into a query.
type choice struct{ name, namespace, job, instance, path, stage string }

var allChosen = choice{"all", "opa", ".*", ".*", ".*", ".*"}

// fillIn does as Grafana does: it puts a range of time and values into a query.
func (c choice) fillIn(query string, window time.Duration) string {
	return strings.NewReplacer(
		"$__rate_interval", fmt.Sprintf("%dms", window.Milliseconds()),
		"${namespace}", c.namespace, "$job", c.job, "$instance", c.instance, "$path", c.path, "$stage", c.stage,
	).Replace(query)
}

// dataSourceInterval is the scrape interval that Grafana assumes if the data
// source does not name one.
const dataSourceInterval = 15 * time.Second

// rateInterval returns Grafana's $__rate_interval and the distance of the
// points, as calculateRateInterval and its callers in
// pkg/promlib/models/query.go do, for a panel of some pixels that shows some
// time.
func rateInterval(shown time.Duration, pixels int, minStep time.Duration) (window, step time.Duration) {
	scrape := dataSourceInterval
	if minStep > 0 {
		scrape = minStep
	}
	interval := max(shown/time.Duration(pixels), dataSourceInterval)
	return max(interval+scrape, 4*scrape), max(interval, scrape)
}

// TestRateInterval: with scrapes up to a minute apart each window has two
// samples or more, and no sample is between two windows, for any time and
// width of the dashboard.
func TestRateInterval(t *testing.T) {
	t.Parallel()
	const late = 5 * time.Second // of a scrape after its time
	for _, file := range []string{"opa-decisions.json", "opa-decisions-classic.json"} {
		for _, target := range dashboardTargets(t, file) {
			if !strings.HasPrefix(target.where, "panel") {
				continue
			}
			for shown := 5 * time.Minute; shown < 90*24*time.Hour; shown = shown * 3 / 2 {
				for _, pixels := range []int{200, 500, 1000, 1900} {
					window, step := rateInterval(shown, pixels, target.minStep)
					require.True(t, window >= 2*(time.Minute+late) && window >= step,
						"%s, %s: %v over %d pixels: rates over %v each %v", file, target.where, shown, pixels, window, step)
				}
			}
		}
	}
}

// TestScrapeIntervals: with the documented scrape intervals, and from 10 to
// 60 s, no panel of a dashboard that shows an hour has a gap, whatever its
// variables are.
func TestScrapeIntervals(t *testing.T) {
	t.Parallel()
	choices := []choice{
		allChosen,
		{"one", "opa", "opa", "server:8181", "authz/allow", "rego_query_eval"},
		{"two, another namespace", "acme", "(opa|web)", "(server:8181|other:8181)", `(authz/allow|\\\\(query\\\\))`, "(rego_query_eval|server_handler)"},
	}
	start := time.Unix(0, 0).Add(time.Hour)
	end := start.Add(time.Hour)
	for _, interval := range append(documentedIntervals(t), 10*time.Second, 15*time.Second, time.Minute) {
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
						window, step := rateInterval(end.Sub(start), 1500, target.minStep)
						query := c.fillIn(target.expr, window)
						require.NotContains(t, query, "$", "%s: a variable is left", target.where)
						gaps := monitors[c.namespace].gaps(t, query, start, end, step)
						assert.Zero(t, gaps, "points without data in %s, chosen: %s, of\n%s", target.where, c.name, query)
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
			if p.F == p.F {
				points[p.T] = true
			}
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

// scrapedSeries returns the series of a server with a bundle, a decision log
// and two paths, in promtool's notation.
func scrapedSeries(namespace string, classic bool, interval, length time.Duration) string {
	var b strings.Builder
	add := func(name, labels, first, perSample string) {
		fmt.Fprintf(&b, "  %s{job=\"opa\",instance=\"server:8181\"%s} %s+%sx%d\n", name, labels, first, perSample, length/interval)
	}
	counter := func(name, labels string, perSecond float64) {
		add(name, labels, "0", fmt.Sprint(perSecond*interval.Seconds()))
	}
	gauge := func(name, labels string, value float64) { add(name, labels, fmt.Sprint(value), "0") }
	histogram := func(name, labels string) {
		if !classic {
			add(name, labels, "{{count:0 sum:0 buckets:[0 0 0]}}", "{{count:60 sum:60 buckets:[10 20 30]}}")
			return
		}
		counter(name+"_count", labels, 10)
		counter(name+"_sum", labels, 0.1)
		for i, bound := range []string{"0.001", "0.01", "0.1", "+Inf"} {
			counter(name+"_bucket", labels+`,le="`+bound+`"`, []float64{5, 8, 9, 10}[i])
		}
	}
	decision := namespace + "_decision"
	for _, path := range []string{"authz/allow", "(query)"} {
		path := `,path="` + path + `"`
		for _, outcome := range []string{"allowed", "denied", "result", "undefined", "error", "cancelled"} {
			counter(decision+"s_total", path+`,outcome="`+outcome+`"`, 2)
		}
		for _, stage := range []string{"server_handler", "rego_query_eval"} {
			histogram(decision+"_path_duration_seconds", path+`,stage="`+stage+`"`)
			counter(decision+"_path_self_seconds_total", path+`,stage="`+stage+`"`, 0.01)
		}
	}
	for _, stage := range []string{"server_handler", "rego_query_eval", "rego_builtin_http_send"} {
		stage := `,stage="` + stage + `"`
		histogram(decision+"_stage_duration_seconds", stage)
		counter(decision+"_stage_self_seconds_total", stage, 0.01)
		for _, cause := range []string{"query", "failed", "unknown"} {
			counter(decision+"_stage_unfinished_total", stage+`,cause="`+cause+`"`, 1)
		}
	}
	for _, label := range []string{"own", "merged", "other"} {
		gauge(decision+"_policy_paths", `,label="`+label+`"`, 7)
	}
	counter(decision+"_errors_total", `,code="eval_conflict_error"`, 1)
	counter(decision+"_counters_total", `,counter="rego_builtin_http_send_network_requests"`, 1)
	counter(decision+"_label_overflow_total", `,kind="path"`, 1)
	counter(decision+"_values_invalid_total", `,reason="negative"`, 1)
	counter(decision+"_plugin_failures_total", `,cause="next"`, 1)
	counter(decision+"_received_total", `,source="server"`, 1)
	gauge(decision+"_metric_series", "", 900)
	gauge("regometer_build_info", `,version="1.0.0",opa_version="1.2.3",dropin="true"`, 1)
	counter("http_request_duration_seconds_count", `,handler="v1/data",method="post",code="200"`, 4)
	gauge("last_success_bundle_activation", `,name="policy",active_revision="one"`, 1e9)
	gauge("last_success_bundle_request", `,name="policy"`, 1e9)
	for _, name := range []string{
		"chunks_uploaded", "chunks_upload_failed", "dropped_rate_limit_exceeded", "dropped_buffer_size_limit_exceeded",
		"dropped_buffer_size_limit_bytes_exceeded", "encoding_failure",
	} {
		counter("decision_logs_"+name+"_total", "", 0.01)
	}
	gauge("decision_logs_buffer_size_events", "", 3)
	gauge("decision_logs_buffer_size_bytes", "", 3000)
	return b.String()
}
