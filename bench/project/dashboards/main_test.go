// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

// TestWritten: the repository has the files that this program writes, and no
// other dashboards.
func TestWritten(t *testing.T) {
	const folder = "../../../dashboards"
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) != len(forms) {
		t.Errorf("found %v, want %d dashboards: %v", names, len(forms), err)
	}
	for _, name := range append(names, ruleFile) {
		name = filepath.Base(name)
		want, err := os.ReadFile(filepath.Join(dir, name))
		got, err2 := os.ReadFile(filepath.Join(folder, name))
		if err := cmp.Or(err, err2); err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("dashboards/%s is out of date; run: make dashboards", name)
		}
	}
}

// TestPanels checks the rules of Grafana that its schema does not have. A rate
// is over four steps. It needs two scrapes, which may be a minute apart and
// late.
func TestPanels(t *testing.T) {
	if step, err := time.ParseDuration(minStep); err != nil || 4*step < 2*(time.Minute+5*time.Second) {
		t.Errorf("the least step %v is too short, or invalid: %v", step, err)
	}
	for name, form := range forms {
		d := newDashboard(form)
		if name != form.uid+".json" || len(form.uid) > 40 {
			t.Errorf("%s: uid %q is too long or is not the file's name", name, form.uid)
		}
		if len(d["__inputs"].([]object)) > 0 {
			t.Errorf("%s has inputs: Grafana fills them in only by hand, not from a file or a ConfigMap", name)
		}
		taken := map[[2]int]string{}
		for _, p := range layOut(form.rows()) {
			pos := p.GridPos
			if pos.W < 1 || pos.H < 1 || pos.X+pos.W > 24 {
				t.Errorf("%s: panel %q is outside the grid: %v", name, p.Title, pos)
			}
			for i := range pos.W * pos.H {
				at := [2]int{pos.X + i%pos.W, pos.Y + i/pos.W}
				if other, ok := taken[at]; ok {
					t.Fatalf("%s: panels %q and %q overlap", name, other, p.Title)
				}
				taken[at] = p.Title
			}
			if p.Type == "row" {
				continue
			}
			if unit := p.defaults()["unit"].(string); !slices.Contains(units, unit) || len(p.Targets) == 0 {
				t.Errorf("%s: panel %q has the unit %q and %d queries", name, p.Title, unit, len(p.Targets))
			}
			for i, q := range p.Targets {
				if q.Expr == "" || q.RefID != string(rune('A'+i)) || q.Instant == q.Range || q.Interval != minStep {
					t.Errorf("%s: panel %q has the query %+v", name, p.Title, q)
				}
			}
		}
		checkReferences(t, name, rendered(t, form))
		checkVariables(t, name, d)
	}
}

// units are Grafana's names of units.
var units = []string{"none", "s", "reqps", "ops", "percentunit", "bytes"}

// checkReferences: all datasources are the variable.
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

// checkVariables: queries use all variables of the dashboard, and no others.
func checkVariables(t *testing.T, name string, d object) {
	t.Helper()
	text, err := render(d)
	if err != nil {
		t.Fatal(err)
	}
	used := []string{}
	for _, match := range regexp.MustCompile(`\$\{?([a-z]\w*)`).FindAllSubmatch(text, -1) { // Grafana's own begin with __
		used = append(used, string(match[1]))
	}
	var known []string
	for _, v := range d["templating"].(object)["list"].([]object) {
		known = append(known, v["name"].(string))
	}
	slices.Sort(known)
	slices.Sort(used)
	if used = slices.Compact(used); !slices.Equal(used, known) {
		t.Errorf("%s uses the variables %q, and has %q", name, used, known)
	}
}
