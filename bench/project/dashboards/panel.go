// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

// minStep is the shortest distance between two points. Grafana takes it for the
// scrape interval and makes $__rate_interval at least four times as long. So
// the interval has three samples or more if scrapes are up to a minute apart.
// Without minStep, Grafana takes the data source's value, which is 15 s by
// default.
const minStep = "1m"

// query returns a query over time, with its legend.
func query(expr string, legend ...string) target {
	t := target{Datasource: datasource, Expr: expr, Interval: minStep, Range: true}
	if len(legend) > 0 {
		t.LegendFormat = legend[0]
	}
	return t
}

// present returns a query for the present values.
func present(expr string) target {
	return target{Datasource: datasource, Expr: expr, Interval: minStep, Format: "table", Instant: true}
}

func newPanel(kind, title, description, unit string, width, height int, queries []target) panel {
	for i := range queries {
		queries[i].RefID = string(rune('A' + i))
	}
	return panel{
		Type: kind, Title: title, Description: description, Datasource: datasource, Targets: queries,
		GridPos:     gridPos{H: height, W: width},
		FieldConfig: object{"defaults": object{"unit": unit, "min": 0}, "overrides": []object{}},
	}
}

// stat shows the present value.
func stat(title, description, unit string, q target) panel {
	p := newPanel("stat", title, description, unit, 4, 4, []target{q})
	p.Options = object{
		"colorMode": "value", "graphMode": "area", "justifyMode": "auto", "textMode": "auto", "orientation": "auto",
		"reduceOptions": object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false},
	}
	p.defaults()["color"] = object{"mode": "fixed", "fixedColor": "blue"}
	return p
}

// series shows values over time.
func series(title, description, unit string, width int, queries ...target) panel {
	p := newPanel("timeseries", title, description, unit, width, 8, queries)
	p.Options = object{
		"legend":  object{"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []string{}},
		"tooltip": object{"mode": "multi", "sort": "desc"},
	}
	p.defaults()["color"] = object{"mode": "palette-classic"}
	p.defaults()["custom"] = object{"drawStyle": "line", "lineWidth": 1, "fillOpacity": 10, "showPoints": "never", "spanNulls": false}
	return p
}

// stacked puts the series on top of one another.
func stacked(p panel) panel {
	custom := p.defaults()["custom"].(object)
	custom["stacking"], custom["fillOpacity"] = object{"mode": "normal", "group": "A"}, 60
	return p
}

// percent makes the axis end at 1.
func percent(p panel) panel {
	p.defaults()["max"] = 1
	return p
}

// heatmap shows a distribution over time.
func (f form) heatmap(title, description string, d durations, selector string) panel {
	q := query(f.buckets(d, selector), "{{le}}")
	q.Format = "heatmap"
	p := newPanel("heatmap", title, description, "s", 24, 9, []target{q})
	p.Options = object{
		"cellGap":   0,
		"color":     object{"mode": "scheme", "scheme": "Blues", "scale": "exponential", "exponent": 0.5, "steps": 64, "reverse": false},
		"yAxis":     object{"unit": "s", "axisPlacement": "left", "reverse": false},
		"rowsFrame": object{"layout": "auto"},
		"tooltip":   object{"mode": "single", "yHistogram": true, "showColorScale": true},
		"legend":    object{"show": true},
	}
	return p
}

// A column of a table is a query for present values by path.
type column struct{ title, unit, expr string }

// table shows one line for each path. It sorts by the last column but one, and
// the largest value comes first.
func table(title, description string, columns ...column) panel {
	var queries []target
	var overrides []object
	names, hidden := object{"path": "Path"}, object{"Time": true} // a join leaves times beside the values
	for i, c := range columns {
		queries = append(queries, present(c.expr))
		names["Value #"+string(rune('A'+i))], hidden["Time "+string(rune('1'+i))] = c.title, true
		overrides = append(overrides, object{
			"matcher":    object{"id": "byName", "options": c.title},
			"properties": []object{{"id": "unit", "value": c.unit}},
		})
	}
	p := newPanel("table", title, description, "none", 24, 9, queries)
	p.FieldConfig["overrides"] = overrides
	p.Transforms = []object{
		{"id": "joinByField", "options": object{"byField": "path", "mode": "outer"}},
		{"id": "organize", "options": object{"renameByName": names, "excludeByName": hidden, "indexByName": object{"path": 0}}},
	}
	p.Options = object{"showHeader": true, "frameIndex": 0, "sortBy": []object{{"displayName": columns[len(columns)-2].title, "desc": true}}}
	return p
}

func (p panel) defaults() object { return p.FieldConfig["defaults"].(object) }
