// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testDashboards: each query of both dashboards has data at the end of the
// work, and over its time.
func testDashboards(t *testing.T, f *fleet) {
	for file, m := range map[string]*monitor{"opa-decisions.json": f.native, "opa-decisions-classic.json": f.classic} {
		for _, target := range dashboardTargets(t, file) {
			if target.where == "annotation Revision active" || ofCollector.MatchString(target.where) {
				continue // the servers have status.prometheus and no collector
			}
			assert.True(t, hasData(m.vector(t, target.query, f.end)), "%s, %s: no data from\n%s", file, target.where, target.query)
			assert.NotEmpty(t, m.matrix(t, target.query, f.start, f.end, scrapeInterval), "%s, %s: no data over time from\n%s", file, target.where, target.query)
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
		RefID string `json:"refId"`
		Expr  string `json:"expr"`
	} `json:"targets"`
	Panels []panel `json:"panels"` // of a collapsed row
}

// A dashboardTarget is a query of a dashboard, with all servers chosen.
type dashboardTarget struct{ where, query string }

// ofCollector matches the queries that need the page of regometer collect.
var ofCollector = regexp.MustCompile(`"(Uploads .*|Servers and uploads.*|.* of the target|Memory)"|(passed on|Left out)", query C|good request", query B`)

// dashboardTargets returns the queries of panels, variables and annotations.
func dashboardTargets(t *testing.T, file string) (all []dashboardTarget) {
	var d dashboard
	require.NoError(t, json.Unmarshal([]byte(read(t, "dashboards/"+file)), &d), file)
	fillIn := strings.NewReplacer( // as Grafana does
		"$__rate_interval", fmt.Sprint(4*scrapeInterval), "${namespace}", "opa", "$job", ".*", "$instance", ".*", "$path", ".*", "$stage", ".*")
	add := func(where, query string) { all = append(all, dashboardTarget{where, fillIn.Replace(query)}) }
	panels := d.Panels
	for _, row := range d.Panels {
		panels = append(panels, row.Panels...)
	}
	for _, p := range panels {
		for _, q := range p.Targets {
			add(fmt.Sprintf("panel %q, query %s", p.Title, q.RefID), q.Expr)
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
		add("variable "+v.Name, fmt.Sprintf(`group by (%s) (%s) and on (%[1]s) group by (%[1]s) ({%[1]s!=""})`, parts[2], parts[1]))
	}
	for _, a := range d.Annotations.List {
		add("annotation "+a.Name, a.Expr)
	}
	return all
}
