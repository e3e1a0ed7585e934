// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
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
// schema cannot: all queries go to the chosen Prometheus, and a rate is over at
// least four minutes, which have two late scrapes.
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
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
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
}
