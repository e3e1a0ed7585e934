// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"slices"
)

// The parts of Grafana's dashboard model that the dashboards need. Other keys
// have Grafana's defaults.
type (
	panel struct {
		ID          int      `json:"id"`
		Type        string   `json:"type"`
		Title       string   `json:"title"`
		Description string   `json:"description,omitempty"`
		GridPos     gridPos  `json:"gridPos"`
		Datasource  object   `json:"datasource,omitempty"`
		Targets     []target `json:"targets,omitempty"`
		FieldConfig object   `json:"fieldConfig,omitempty"`
		Options     object   `json:"options,omitempty"`
		Transforms  []object `json:"transformations,omitempty"`
		Collapsed   bool     `json:"collapsed,omitempty"`
		Panels      []panel  `json:"panels,omitempty"` // of a collapsed row
	}
	gridPos struct {
		H int `json:"h"`
		W int `json:"w"`
		X int `json:"x"`
		Y int `json:"y"`
	}
	target struct {
		RefID        string `json:"refId"`
		Datasource   object `json:"datasource"`
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat,omitempty"`
		Format       string `json:"format,omitempty"`
		Interval     string `json:"interval,omitempty"`
		Instant      bool   `json:"instant,omitempty"`
		Range        bool   `json:"range,omitempty"`
	}
	object map[string]any
)

// datasource refers to the variable of that name. The variable has a value even
// in a dashboard that Grafana reads from a file.
var datasource = object{"type": "prometheus", "uid": "${datasource}"}

func newDashboard(f form) object {
	return object{
		"__inputs": []object{}, // only an import by hand would fill them in
		"__requires": []object{
			{"type": "grafana", "id": "grafana", "name": "Grafana", "version": "11.0.0"},
			{"type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "1.0.0"},
		},
		"uid":           f.uid,
		"title":         f.title,
		"description":   "Decisions of Open Policy Agent by stage and path, from the plugin regometer or from regometer collect. " + f.needs,
		"tags":          []string{"opa", "regometer"},
		"schemaVersion": 39,
		"graphTooltip":  1, // the cross-hair is shared
		"refresh":       "30s",
		"time":          object{"from": "now-1h", "to": "now"},
		"templating": object{"list": []object{
			{
				"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus",
				"current": object{"text": "default", "value": "default"},
				"refresh": 1, "hide": 0, "includeAll": false, "multi": false, "options": []string{}, "regex": "",
			},
			{
				"name": "namespace", "label": "namespace", "type": "textbox", "query": "opa", "hide": 0,
				"description": "The prefix of the plugin's metrics: its key namespace.",
				"current":     object{"text": "opa", "value": "opa"}, "options": []object{{"selected": true, "text": "opa", "value": "opa"}},
			},
			variable("job", `label_values({__name__=~"`+decisions+`|opa_info"}, job)`), // opa_info: status.prometheus
			variable("instance", `label_values({__name__=~"`+decisions+`|opa_info",job=~"$job"}, instance)`),
			variable("path", "label_values("+decisions+"{"+servers+"}, path)"),
			variable("stage", "label_values("+stageSelf+"{"+servers+"}, stage)"),
		}},
		"annotations": object{"list": []object{{
			// Grafana draws a region for as long as a series lasts.
			"name": "Revision active", "enable": true, "hide": false, "iconColor": "purple", "datasource": datasource,
			"expr": policyInfo, "useValueForTime": false, "titleFormat": "Bundle {{bundle}} activated", "textFormat": "{{instance}}: {{revision}}", "step": minStep,
		}, {
			"name": "Bundle activated", "enable": true, "hide": false, "iconColor": "purple", "datasource": datasource,
			// The series' value is the time, in nanoseconds; Grafana wants
			// milliseconds.
			"expr": "last_success_bundle_activation{" + servers + "} / 1e6", "useValueForTime": true,
			"titleFormat": "Bundle {{name}} activated", "textFormat": "{{instance}}: {{active_revision}}", "step": "",
		}}},
		"panels": collapse(layOut(f.rows())),
	}
}

// variable returns a choice of one or several values of a label.
func variable(name, query string) object {
	return object{
		"name": name, "label": name, "type": "query", "datasource": datasource,
		"query":      object{"query": query, "refId": name},
		"includeAll": true, "allValue": ".*", "multi": true, "sort": 1, "refresh": 2, "hide": 0,
		"current": object{"text": []string{"All"}, "value": []string{"$__all"}},
		"options": []string{}, "regex": "",
	}
}

// A row is a headline and the panels below it. Grafana shows the panels of a
// collapsed row, and asks for their data, after a click.
type row struct {
	title     string
	collapsed bool
	panels    []panel
}

// layOut numbers the panels and places them from left to right, in lines of
// Grafana's 24 columns.
func layOut(rows []row) (all []panel) {
	y := 0
	for _, r := range rows {
		all = append(all, panel{Type: "row", Title: r.title, Collapsed: r.collapsed, GridPos: gridPos{H: 1, W: 24, Y: y}})
		y++
		x, height := 0, 0
		for _, p := range r.panels {
			if x+p.GridPos.W > 24 {
				x, y, height = 0, y+height, 0
			}
			p.GridPos.X, p.GridPos.Y = x, y
			x, height = x+p.GridPos.W, max(height, p.GridPos.H)
			all = append(all, p)
		}
		y += height
	}
	for i := range all {
		all[i].ID = i + 1
	}
	return all
}

// collapse puts the panels of the last row, which is collapsed, into it, as
// Grafana does.
func collapse(all []panel) []panel {
	i := slices.IndexFunc(all, func(p panel) bool { return p.Collapsed })
	all[i].Panels = all[i+1:]
	return all[:i+1]
}

func render(d object) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(d)
	return b.Bytes(), err
}
