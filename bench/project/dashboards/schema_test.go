// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

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

// TestSchema: the dashboards follow Grafana's schema of dashboards, panels and
// options. It is made from the types that Grafana publishes:
// testdata/dashboard.schema.ts says how.
func TestSchema(t *testing.T) {
	s, err := jsonschema.NewCompiler().Compile(filepath.Join("testdata", "dashboard.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, form := range forms {
		if err := s.Validate(rendered(t, form)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
