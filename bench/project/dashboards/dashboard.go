// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
)

// The parts of Grafana's dashboard model that are in use. Keys that are left
// out have Grafana's defaults.
type (
	dashboard struct {
		Inputs        []object   `json:"__inputs"` // none: an import by hand alone would fill them in
		Requires      []object   `json:"__requires"`
		UID           string     `json:"uid"`
		Title         string     `json:"title"`
		Description   string     `json:"description"`
		Tags          []string   `json:"tags"`
		SchemaVersion int        `json:"schemaVersion"`
		Editable      bool       `json:"editable"`
		GraphTooltip  int        `json:"graphTooltip"` // 1: the cross-hair is shared
		Refresh       string     `json:"refresh"`
		Time          timeRange  `json:"time"`
		Timezone      string     `json:"timezone"`
		Templating    variables  `json:"templating"`
		Annotations   variables  `json:"annotations"`
		Panels        []panel    `json:"panels"`
		Links         []struct{} `json:"links"`
		Version       int        `json:"version"`
	}
	timeRange struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	variables struct {
		List []object `json:"list"`
	}
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
		Panels      []panel  `json:"panels,omitempty"`
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

// datasource refers to the variable. Its first value is what was chosen at the
// import; a dashboard that is provisioned from a file has a value too.
var datasource = object{"type": "prometheus", "uid": "${datasource}"}

func newDashboard(f form) dashboard {
	return dashboard{
		Inputs: []object{},
		Requires: []object{
			{"type": "grafana", "id": "grafana", "name": "Grafana", "version": "11.0.0"},
			{"type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "1.0.0"},
		},
		UID:           f.uid,
		Title:         f.title,
		Description:   "Decisions of Open Policy Agent by stage and path, from the plugin regometer. " + f.needs,
		Tags:          []string{"opa", "regometer"},
		SchemaVersion: 39,
		Editable:      true,
		GraphTooltip:  1,
		Refresh:       "30s",
		Time:          timeRange{"now-1h", "now"},
		Timezone:      "browser",
		Templating: variables{[]object{
			{
				"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus",
				"current": object{"text": "default", "value": "default"},
				"refresh": 1, "hide": 0, "includeAll": false, "multi": false, "options": []string{}, "regex": "",
			},
			{
				"name": "namespace", "label": "namespace", "type": "textbox", "query": "opa", "hide": 0,
				"description": "What the plugin's metrics begin with: its key namespace.",
				"current":     object{"text": "opa", "value": "opa"}, "options": []object{{"selected": true, "text": "opa", "value": "opa"}},
			},
			variable("job", "label_values("+decisions+", job)"),
			variable("instance", "label_values("+decisions+`{job=~"$job"}, instance)`),
			variable("path", "label_values("+decisions+"{"+servers+"}, path)"),
			variable("stage", "label_values("+stageSelf+"{"+servers+"}, stage)"),
		}},
		Annotations: variables{[]object{{
			"name": "Bundle activated", "enable": true, "hide": false, "iconColor": "purple", "datasource": datasource,
			// The series' value is the time, in nanoseconds; Grafana wants
			// milliseconds.
			"expr": "last_success_bundle_activation{" + servers + "} / 1e6", "useValueForTime": true,
			"titleFormat": "Bundle {{name}} activated", "textFormat": "{{instance}}: {{active_revision}}", "step": "",
		}}},
		Panels:  layOut(f.rows()),
		Links:   []struct{}{},
		Version: 1,
	}
}

// variable is a choice of one or several values of a label.
func variable(name, query string) object {
	return object{
		"name": name, "label": name, "type": "query", "datasource": datasource,
		"query":      object{"query": query, "refId": name},
		"includeAll": true, "allValue": ".*", "multi": true, "sort": 1, "refresh": 2, "hide": 0,
		"current": object{"text": []string{"All"}, "value": []string{"$__all"}},
		"options": []string{}, "regex": "",
	}
}

// A row is a headline and the panels below it.
type row struct {
	title     string
	collapsed bool
	panels    []panel
}

// layOut numbers the panels and puts them where they belong, from left to
// right in lines of Grafana's 24 columns.
func layOut(rows []row) []panel {
	var all []panel
	id, y := 0, 0
	for _, r := range rows {
		id++
		headline := panel{ID: id, Type: "row", Title: r.title, Collapsed: r.collapsed, GridPos: gridPos{H: 1, W: 24, Y: y}}
		y++
		x, height := 0, 0
		for i := range r.panels {
			p := &r.panels[i]
			if x+p.GridPos.W > 24 {
				x, y, height = 0, y+height, 0
			}
			id++
			p.ID, p.GridPos.X, p.GridPos.Y = id, x, y
			x, height = x+p.GridPos.W, max(height, p.GridPos.H)
		}
		y += height
		if r.collapsed {
			headline.Panels = r.panels
			all = append(all, headline)
		} else {
			all = append(append(all, headline), r.panels...)
		}
	}
	return all
}

func render(d dashboard) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(d)
	return b.Bytes(), err
}
