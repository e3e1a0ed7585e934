// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema returns Grafana's schema of dashboards, panels and options. It is made
// from the types that Grafana publishes: testdata/dashboard.schema.ts says how.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join("testdata", "dashboard.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rendered returns a dashboard as a JSON value.
func rendered(t *testing.T, f form) any {
	t.Helper()
	text, err := render(newDashboard(f))
	if err != nil {
		t.Fatal(err)
	}
	d, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSchema: the dashboards follow Grafana's schema.
func TestSchema(t *testing.T) {
	s := schema(t)
	for name, form := range forms {
		if err := s.Validate(rendered(t, form)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaRefuses: the schema refuses keys that Grafana does not know, except
// in the options of a transformation and in a query.
func TestSchemaRefuses(t *testing.T) {
	s := schema(t)
	d := rendered(t, forms["opa-decisions.json"]).(map[string]any)
	// One panel of each type suffices.
	types := map[string]any{}
	for _, p := range d["panels"].([]any) {
		types[fmt.Sprint(p.(map[string]any)["type"])] = p
	}
	d["panels"] = slices.Collect(maps.Values(types))
	unknown := map[string]bool{}
	var visit func(path string, v any)
	visit = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			v["surprise"] = json.Number("1")
			if s.Validate(d) == nil {
				unknown[path] = true
			}
			delete(v, "surprise")
			for key, inner := range v {
				visit(path+"/"+key, inner)
			}
		case []any:
			for _, inner := range v {
				visit(path+"/*", inner)
			}
		}
	}
	visit("", d)
	for path := range unknown {
		if !strings.HasPrefix(path, "/panels/*/transformations/*/options") && path != "/templating/list/*/query" {
			t.Errorf("an unknown key in %s is not refused", path)
		}
	}
	if len(types) != 5 || len(unknown) == 0 {
		t.Errorf("%d types of panels, %d places that take anything", len(types), len(unknown))
	}
}
