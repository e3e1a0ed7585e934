// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
)

// testDashboards evaluates all queries of both dashboards: at the end of the
// work each returns data, and so does it over time.
func testDashboards(t *testing.T, f *fleet) {
	for file, m := range map[string]*monitor{"opa-decisions.json": f.native, "opa-decisions-classic.json": f.classic} {
		queries := dashboardQueries(t, filepath.Join(root, "dashboards", file))
		for where, query := range queries {
			if strings.HasPrefix(where, `panel "Unfinished timers"`) {
				continue // there are none on a healthy server
			}
			query = fillIn(query, 4*scrapeInterval)
			if !hasData(m.vector(t, query, f.end)) {
				t.Errorf("%s, %s: no data from\n%s", file, where, query)
			}
			if len(m.matrix(t, query, f.start, f.end, scrapeInterval)) == 0 {
				t.Errorf("%s, %s: no data over time from\n%s", file, where, query)
			}
		}
	}
}

// hasData reports whether there is a number or a histogram that says
// something.
func hasData(v promql.Vector) bool {
	for _, s := range v {
		if s.H != nil && s.H.Count > 0 || s.H == nil && !math.IsNaN(s.F) {
			return true
		}
	}
	return false
}

// A dashboard is what the tests need of Grafana's.
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

func readDashboard(t *testing.T, file string) dashboard {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return d
}

// dashboardQueries returns the queries of panels, variables and annotations, by
// where they stand.
func dashboardQueries(t *testing.T, file string) map[string]string {
	t.Helper()
	dashboard := readDashboard(t, file)
	queries := map[string]string{}
	for _, p := range dashboard.Panels {
		if len(p.Panels) > 0 {
			t.Errorf("%s: panels within %q would not be tested", file, p.Title)
		}
		for _, q := range p.Targets {
			queries[fmt.Sprintf("panel %q, query %s", p.Title, q.RefID)] = q.Expr
		}
	}
	labelValues := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for _, v := range dashboard.Templating.List {
		if v.Type != "query" {
			continue
		}
		var q struct {
			Query string `json:"query"`
		}
		if err := json.Unmarshal(v.Query, &q); err != nil {
			t.Fatalf("%s: variable %s: %v", file, v.Name, err)
		}
		parts := labelValues.FindStringSubmatch(q.Query)
		if parts == nil {
			t.Fatalf("%s: variable %s: cannot read %q", file, v.Name, q.Query)
		}
		queries["variable "+v.Name] = fmt.Sprintf(`group by (%s) (%s) and on (%[1]s) group by (%[1]s) ({%[1]s!=""})`, parts[2], parts[1])
	}
	for _, a := range dashboard.Annotations.List {
		queries["annotation "+a.Name] = a.Expr
	}
	return queries
}

// fillIn puts in what Grafana would: a range of time for rates, and all values
// of the variables.
func fillIn(query string, window time.Duration) string {
	return allChosen.fillIn(query, window)
}

// A choice is what somebody has chosen in a dashboard, as Grafana writes it
// into a query.
type choice struct{ name, namespace, job, instance, path, stage string }

var allChosen = choice{"all", "opa", ".*", ".*", ".*", ".*"}

func (c choice) fillIn(query string, window time.Duration) string {
	return strings.NewReplacer(
		"$__rate_interval", fmt.Sprintf("%dms", window.Milliseconds()),
		"${namespace}", c.namespace, "$job", c.job, "$instance", c.instance, "$path", c.path, "$stage", c.stage,
	).Replace(query)
}
