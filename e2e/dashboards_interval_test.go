// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
)

// dataSourceInterval is what Grafana takes for the scrape interval of a data
// source that nobody has told it of.
const dataSourceInterval = 15 * time.Second

// rateInterval is Grafana's $__rate_interval and the distance of the points, by
// calculateRateInterval and its callers in pkg/promlib/models/query.go: for a
// panel that is so many pixels wide and shows so much time.
func rateInterval(shown time.Duration, pixels int, minStep time.Duration) (window, step time.Duration) {
	scrape := dataSourceInterval
	if minStep > 0 {
		scrape = minStep
	}
	interval := max(shown/time.Duration(pixels), dataSourceInterval)
	return max(interval+scrape, 4*scrape), max(interval, scrape)
}

// TestRateInterval: with scrapes up to a minute apart there are two samples or
// more in each window, and no sample is between two windows, whatever the
// dashboard shows and however wide it is.
func TestRateInterval(t *testing.T) {
	t.Parallel()
	const late = 5 * time.Second // a scrape may begin later or take longer than the one before
	for _, file := range []string{"opa-decisions.json", "opa-decisions-classic.json"} {
		for _, p := range readDashboard(t, filepath.Join(root, "dashboards", file)).Panels {
			for _, target := range p.Targets {
				for shown := 5 * time.Minute; shown < 90*24*time.Hour; shown = shown * 3 / 2 {
					for _, pixels := range []int{200, 500, 1000, 1900} {
						window, step := rateInterval(shown, pixels, minStep(t, target.Interval))
						if window < 2*(time.Minute+late) || window < step {
							t.Fatalf("%s, panel %q: %v over %d pixels: rates over %v each %v", file, p.Title, shown, pixels, window, step)
						}
					}
				}
			}
		}
	}
}

func minStep(t *testing.T, interval string) time.Duration {
	t.Helper()
	if interval == "" {
		return 0
	}
	d, err := time.ParseDuration(interval)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestScrapeIntervals: with the scrape interval of the documentation, and with
// all from 10 to 60 s, no panel of a dashboard that is an hour long has a gap,
// whatever is chosen in it.
func TestScrapeIntervals(t *testing.T) {
	t.Parallel()
	choices := []choice{
		allChosen,
		{"one", "opa", "opa", "server:8181", "authz/allow", "rego_query_eval"},
		{"two, another namespace", "acme", "(opa|web)", "(server:8181|other:8181)", `(authz/allow|\\\\(query\\\\))`, "(rego_query_eval|server_handler)"},
	}
	for _, interval := range append(documentedIntervals(t), 10*time.Second, 15*time.Second, time.Minute) {
		for file, classic := range map[string]bool{"opa-decisions.json": false, "opa-decisions-classic.json": true} {
			t.Run(fmt.Sprint(file, "/", interval), func(t *testing.T) {
				t.Parallel()
				targets := dashboardTargets(t, filepath.Join(root, "dashboards", file))
				if len(targets) < 50 {
					t.Errorf("only %d queries found", len(targets))
				}
				for _, namespace := range []string{"opa", "acme"} {
					m, start, end := storeScrapes(t, namespace, interval, classic)
					for _, c := range choices {
						if c.namespace != namespace {
							continue
						}
						for _, target := range targets {
							window, step := rateInterval(end.Sub(start), 1500, target.minStep)
							query := c.fillIn(target.expr, window)
							if strings.Contains(query, "$") {
								t.Fatalf("%s: a variable is left in %s", target.where, query)
							}
							if gap := m.gap(t, query, start, end, step); gap != "" {
								t.Errorf("%s, chosen: %s: %s from\n%s", target.where, c.name, gap, query)
							}
						}
					}
				}
			})
		}
	}
}

// documentedIntervals are the scrape intervals of the configurations that we
// tell people to use.
func documentedIntervals(t *testing.T) (found []time.Duration) {
	t.Helper()
	for _, text := range snippets(t, "yaml") {
		if !strings.HasPrefix(text, "# prometheus.yaml\n") {
			continue
		}
		c, err := config.Load(text, promslog.NewNopLogger())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.ScrapeConfigs {
			found = append(found, time.Duration(s.ScrapeInterval))
		}
		for _, file := range c.RuleFiles {
			readRules(t, filepath.Join(root, file))
		}
	}
	if len(found) == 0 {
		t.Error("docs/operating.md has no prometheus.yaml")
	}
	return append(found, time.Duration(scrapeConfig(t, monitorOptions{interval: 15 * time.Second}).GlobalConfig.ScrapeInterval))
}

// A dashboardTarget is a query of a dashboard.
type dashboardTarget struct {
	where, expr string
	minStep     time.Duration
}

func dashboardTargets(t *testing.T, file string) (all []dashboardTarget) {
	t.Helper()
	steps := map[string]time.Duration{}
	for _, p := range readDashboard(t, file).Panels {
		for _, q := range p.Targets {
			steps[fmt.Sprintf("panel %q, query %s", p.Title, q.RefID)] = minStep(t, q.Interval)
		}
	}
	for where, expr := range dashboardQueries(t, file) {
		all = append(all, dashboardTarget{where, expr, steps[where]})
	}
	slices.SortFunc(all, func(a, b dashboardTarget) int { return strings.Compare(a.where, b.where) })
	return all
}

// gap evaluates a query over time and says where it has no data.
func (m *monitor) gap(t *testing.T, query string, start, end time.Time, step time.Duration) string {
	t.Helper()
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
	missing := 0
	for at := start; !at.After(end); at = at.Add(step) {
		if !points[at.UnixMilli()] {
			missing++
		}
	}
	switch {
	case len(points) == 0:
		return "no data"
	case missing > 0:
		return fmt.Sprintf("%d of %d points are missing", missing, missing+len(points))
	}
	return ""
}

// storeScrapes returns a Prometheus that has scraped a server for some hours,
// not quite at regular times, and the last hour of them.
func storeScrapes(t *testing.T, namespace string, interval time.Duration, classic bool) (m *monitor, start, end time.Time) {
	t.Helper()
	db, err := tsdb.Open(t.TempDir(), promslog.NewNopLogger(), nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	m = &monitor{db: db, engine: promql.NewEngine(promql.EngineOpts{
		Logger: promslog.NewNopLogger(), MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
		Parser: parser.NewParser(parser.Options{}),
	})}
	start = time.Unix(1_800_000_000, 0)
	end = start.Add(time.Hour)
	random := rand.New(rand.NewPCG(1, uint64(interval)))
	began := start.Add(-time.Hour)
	for at := began; !at.After(end); at = at.Add(interval) {
		// Up to a twentieth later than it should be.
		now := at.Add(time.Duration(random.Float64() * float64(interval) / 20)).UnixMilli()
		app := db.Appender(t.Context())
		for _, s := range scrapedSeries(namespace, classic) {
			var err error
			if s.native {
				_, err = app.AppendHistogram(0, s.labels, now, tsdbutil.GenerateTestHistogram(int64(at.Sub(began).Seconds())), nil)
			} else {
				_, err = app.Append(0, s.labels, now, s.value+s.perSecond*at.Sub(began).Seconds())
			}
			if err != nil {
				t.Fatalf("%v: %v", s.labels, err)
			}
		}
		if err := app.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	return m, start, end
}

// A scraped series grows from a value, or is a native histogram.
type scraped struct {
	labels           labels.Labels
	value, perSecond float64
	native           bool
}

// scrapedSeries are those that a server with a bundle, a decision log and two
// paths has.
func scrapedSeries(namespace string, classic bool) (all []scraped) {
	named := func(name string, with []string) labels.Labels {
		return labels.FromStrings(append([]string{model.MetricNameLabel, name, "job", "opa", "instance", "server:8181"}, with...)...)
	}
	add := func(name string, value, perSecond float64, with ...string) {
		all = append(all, scraped{labels: named(name, with), value: value, perSecond: perSecond})
	}
	histogram := func(name string, with ...string) {
		if !classic {
			all = append(all, scraped{labels: named(name, with), native: true})
			return
		}
		add(name+"_count", 0, 10, with...)
		add(name+"_sum", 0, 0.1, with...)
		for i, bound := range []string{"0.001", "0.01", "0.1", "+Inf"} {
			add(name+"_bucket", 0, []float64{5, 8, 9, 10}[i], append(slices.Clone(with), "le", bound)...)
		}
	}
	for _, path := range []string{"authz/allow", "(query)"} {
		for _, outcome := range []string{"allowed", "denied", "result", "undefined", "error", "cancelled"} {
			add(namespace+"_decisions_total", 0, 2, "path", path, "outcome", outcome)
		}
		for _, stage := range []string{"server_handler", "rego_query_eval"} {
			histogram(namespace+"_decision_path_duration_seconds", "path", path, "stage", stage)
			add(namespace+"_decision_path_self_seconds_total", 0, 0.01, "path", path, "stage", stage)
		}
	}
	for _, stage := range []string{"server_handler", "rego_query_eval", "rego_builtin_http_send"} {
		histogram(namespace+"_decision_stage_duration_seconds", "stage", stage)
		add(namespace+"_decision_stage_self_seconds_total", 0, 0.01, "stage", stage)
		for _, cause := range []string{"query", "failed", "unknown"} {
			add(namespace+"_decision_stage_unfinished_total", 0, 1, "stage", stage, "cause", cause)
		}
	}
	for _, l := range []string{"own", "merged", "other"} {
		add(namespace+"_decision_policy_paths", 7, 0, "label", l)
	}
	add(namespace+"_decision_errors_total", 0, 1, "code", "eval_conflict_error")
	add(namespace+"_decision_counters_total", 0, 1, "counter", "rego_builtin_http_send_network_requests")
	add(namespace+"_decision_label_overflow_total", 0, 1, "kind", "path")
	add(namespace+"_decision_values_invalid_total", 0, 1, "reason", "negative")
	add(namespace+"_decision_plugin_failures_total", 0, 1, "cause", "next")
	add(namespace+"_decision_received_total", 0, 1, "source", "server")
	add(namespace+"_decision_metric_series", 900, 0)
	add("regometer_build_info", 1, 0, "version", "1.0.0", "opa_version", "1.2.3", "dropin", "true")
	add("http_request_duration_seconds_count", 0, 4, "handler", "v1/data", "method", "post", "code", "200")
	add("last_success_bundle_activation", 1.8e18, 0, "name", "policy", "active_revision", "one")
	add("last_success_bundle_request", 1.8e18, 0, "name", "policy")
	for _, name := range []string{
		"chunks_uploaded_total", "chunks_upload_failed_total", "dropped_rate_limit_exceeded_total", "dropped_buffer_size_limit_exceeded_total",
		"dropped_buffer_size_limit_bytes_exceeded_total", "encoding_failure_total", "buffer_size_events", "buffer_size_bytes",
	} {
		add("decision_logs_"+name, 0, 0.01)
	}
	return all
}
