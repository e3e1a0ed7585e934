// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWritten: the dashboards and the rule in the repository are those of this
// program.
func TestWritten(t *testing.T) {
	const folder = "../../../dashboards"
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(forms) {
		t.Errorf("found %v, want %d files", files, len(forms))
	}
	for name, form := range forms {
		want, err := render(newDashboard(form))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("dashboards/%s is out of date; run: make dashboards", name)
		}
	}
	want, err := prometheusRule(folder)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, ruleFile))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("dashboards/%s is out of date; run: make dashboards", ruleFile)
	}
}

// TestRuleWithoutGroups: a file of rules in another form is named.
func TestRuleWithoutGroups(t *testing.T) {
	dir := t.TempDir()
	if _, err := prometheusRule(dir); err == nil || !strings.Contains(err.Error(), "recording-rules.yaml") {
		t.Errorf("without files: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "recording-rules.yaml"), []byte("groups: []\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := prometheusRule(dir); err == nil || !strings.Contains(err.Error(), "recording-rules.yaml has no line") {
		t.Errorf("without groups: %v", err)
	}
}

// TestStructure checks what Grafana needs to import a dashboard and show it,
// as far as that can be told without Grafana.
func TestStructure(t *testing.T) {
	uids := map[string]bool{}
	for name, form := range forms {
		text, err := render(newDashboard(form))
		if err != nil {
			t.Fatal(err)
		}
		var d map[string]any
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"title", "uid", "schemaVersion", "panels", "templating", "annotations", "time", "__inputs", "__requires"} {
			if d[key] == nil {
				t.Errorf("%s has no %s", name, key)
			}
		}
		uid := d["uid"].(string)
		if uids[uid] || len(uid) > 40 {
			t.Errorf("%s: uid %q is too long or used twice", name, uid)
		}
		uids[uid] = true
		if _, ok := d["id"]; ok {
			t.Errorf("%s has an id: it would replace another dashboard", name)
		}
		if inputs := d["__inputs"].([]any); len(inputs) > 0 {
			t.Errorf("%s has inputs: Grafana fills them in by hand only, not from a file or a ConfigMap", name)
		}
		checkPanels(t, name, d["panels"].([]any))
		checkReferences(t, name, d)
		checkVariables(t, name, string(text), d)
	}
}

// panelTypes are those of Grafana itself that are in use.
var panelTypes = []string{"row", "stat", "timeseries", "heatmap", "table"}

func checkPanels(t *testing.T, name string, panels []any) {
	t.Helper()
	ids := map[float64]bool{}
	type place struct{ x, y float64 }
	taken := map[place]string{}
	for _, p := range panels {
		p := p.(map[string]any)
		title, kind, id := p["title"].(string), p["type"].(string), p["id"].(float64)
		if id < 1 || ids[id] {
			t.Errorf("%s: panel %q has id %v, which is taken or too small", name, title, id)
		}
		ids[id] = true
		if title == "" || !slices.Contains(panelTypes, kind) {
			t.Errorf("%s: panel %q has type %q", name, title, kind)
		}
		pos := p["gridPos"].(map[string]any)
		x, y, w, h := pos["x"].(float64), pos["y"].(float64), pos["w"].(float64), pos["h"].(float64)
		if x < 0 || y < 0 || w < 1 || h < 1 || x+w > 24 {
			t.Errorf("%s: panel %q is outside of the grid: %v", name, title, pos)
		}
		for i := range int(w) {
			for j := range int(h) {
				at := place{x + float64(i), y + float64(j)}
				if other, ok := taken[at]; ok {
					t.Fatalf("%s: panels %q and %q overlap", name, other, title)
				}
				taken[at] = title
			}
		}
		if kind == "row" {
			continue
		}
		refs := map[any]bool{}
		targets, _ := p["targets"].([]any)
		for _, target := range targets {
			target := target.(map[string]any)
			if target["expr"] == "" || refs[target["refId"]] {
				t.Errorf("%s: panel %q has an empty query, or two with refId %v", name, title, target["refId"])
			}
			if target["instant"] == target["range"] {
				t.Errorf("%s: panel %q, query %v is not either instant or over a range", name, title, target["refId"])
			}
			if target["interval"] != minStep {
				t.Errorf("%s: panel %q, query %v has the least step %v, want %s", name, title, target["refId"], target["interval"], minStep)
			}
			refs[target["refId"]] = true
		}
		if len(targets) == 0 {
			t.Errorf("%s: panel %q has no query", name, title)
		}
		if unit := p["fieldConfig"].(map[string]any)["defaults"].(map[string]any)["unit"]; !slices.Contains(units, unit.(string)) {
			t.Errorf("%s: panel %q has the unit %v", name, title, unit)
		}
	}
}

// units are Grafana's names of units.
var units = []string{"none", "s", "reqps", "ops", "percentunit", "bytes"}

// checkReferences: whatever has a datasource refers to the variable.
func checkReferences(t *testing.T, name string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		if source, ok := v["datasource"].(map[string]any); ok {
			if source["uid"] != "${datasource}" || source["type"] != "prometheus" {
				t.Errorf("%s: datasource %v", name, source)
			}
		}
		if _, query := v["expr"]; query && v["datasource"] == nil {
			t.Errorf("%s: %v has no datasource", name, v)
		}
		for _, inner := range v {
			checkReferences(t, name, inner)
		}
	case []any:
		for _, inner := range v {
			checkReferences(t, name, inner)
		}
	}
}

// checkVariables: each variable that a query uses is there, each one that is
// there is used, and the datasource's first value is what was imported.
func checkVariables(t *testing.T, name, text string, d map[string]any) {
	t.Helper()
	used := map[string]bool{}
	for _, match := range regexp.MustCompile(`\$\{?([a-zA-Z_]+)`).FindAllStringSubmatch(text, -1) {
		used[match[1]] = true
	}
	for _, builtIn := range []string{"__rate_interval", "__all"} {
		delete(used, builtIn)
	}
	var known []string
	for _, v := range d["templating"].(map[string]any)["list"].([]any) {
		v := v.(map[string]any)
		known = append(known, v["name"].(string))
	}
	for _, variable := range known {
		if !used[variable] {
			t.Errorf("%s: nothing uses the variable %s", name, variable)
		}
		delete(used, variable)
	}
	for variable := range used {
		t.Errorf("%s: there is no variable %s", name, variable)
	}
}
