// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const folder = "../../testdata/root/dashboards"

// TestWritten: the repository has the files that this program writes.
func TestWritten(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.CopyFS(dir, os.DirFS(folder)), write(dir)); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil || len(names) < 8 {
		t.Fatalf("files in dashboards: %v, %v", names, err)
	}
	for _, name := range names {
		want, err := os.ReadFile(name)
		got, err2 := os.ReadFile(filepath.Join(folder, filepath.Base(name)))
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("dashboards/%s is out of date; run: make dashboards", filepath.Base(name))
		}
	}
}

// TestDashboard checks the dashboard against Grafana's schema of dashboards,
// panels and options. The schema is made from the types that Grafana publishes:
// testdata/dashboard.schema.ts says how. TestDashboard also checks what the
// schema cannot: an import by hand, from a file or a ConfigMap needs no inputs,
// all queries go to the chosen Prometheus, a rate is over at least four minutes,
// which have two late scrapes, and queries use exactly the variables that exist.
func TestDashboard(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("testdata", "dashboard.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(folder, "opa-decisions.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	value, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Error(err)
	}
	dashboard := value.(map[string]any)
	if inputs := dashboard["__inputs"].([]any); len(inputs) > 0 {
		t.Errorf("the dashboard has inputs: %v", inputs)
	}
	used, known := map[string]bool{}, []string{}
	for _, v := range dashboard["templating"].(map[string]any)["list"].([]any) {
		known = append(known, v.(map[string]any)["name"].(string))
	}
	variable := regexp.MustCompile(`\$\{?([a-z]\w*)`) // Grafana's own begin with __
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			for _, m := range variable.FindAllStringSubmatch(v, -1) {
				used[m[1]] = true
				if !slices.Contains(known, m[1]) {
					t.Errorf("%q uses an unknown variable", v)
				}
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		case map[string]any:
			source, _ := v["datasource"].(map[string]any)
			if expr := v["expr"]; expr != nil && source["uid"] != "${datasource}" {
				t.Errorf("the query %v has the data source %v", expr, source)
			}
			if v["refId"] != nil && v["expr"] != nil && (v["interval"] != "1m" || v["instant"] == v["range"]) {
				t.Errorf("the query %v has no interval of a minute, or is not either instant or over a range", v["expr"])
			}
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(value)
	if len(used) != len(known) {
		t.Errorf("queries use the variables %v of %v", used, known)
	}
}
