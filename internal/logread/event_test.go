// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"fmt"
	"testing"
)

func TestLabels(t *testing.T) {
	t.Parallel()
	e := Event{Labels: []byte(`{ "a" : "x\"y", "b":{"a":"no"}, "c\u0064":"", "a2":1, "a":"last" }`)}
	text := func(label []byte) string { return fmt.Sprintf("%t %s", label != nil, label) }
	for name, want := range map[string]string{
		"a": "true last", "cd": "true ", "b": "false ", "a2": "false ", "": "false ", "team": "false ",
	} {
		if got := text(e.Label(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestBundleRevisions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ bundles, revision, want string }{
		{"", "", ""},
		{"", "7", "7"},
		{`{"b":{"revision":"2"},"a":{"revision":"1"}}`, "7", "a=1,b=2"},
		{`{"b":{"revision":"2"},"a":{"revision":"1"}}`, "8", "a=1,b=2"},
		{`{"b":{"revision":"3"},"a":{"revision":"1"}}`, "8", "a=1,b=3"},
		{`{"b":{},"\u0061":null}`, "", "a=,b="},
		{`{}`, "7", "7"},
		{"", "", ""},
	} {
		got := string((&Event{Bundles: []byte(test.bundles), Revision: []byte(test.revision)}).BundleRevisions())
		if got != test.want {
			t.Errorf("%s, %q: %s, want %s", test.bundles, test.revision, got, test.want)
		}
	}
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	for want, messages := range map[string][]string{
		"eval_cancel_error":       {"eval_cancel_error: caller cancelled query execution"},
		"eval_conflict_error":     {"1 error occurred: policy.rego:3: eval_conflict_error: x"},
		"rego_type_error":         {"1 error occurred: 1 error occurred: 3:5: rego_type_error: x", "2 errors occurred:\npolicy.rego:3: rego_type_error: x\np:4: rego_x_error: y", "2 errors occurred\npolicy.rego:3: rego_type_error: x"},
		"storage_not_found_error": {"storage_not_found_error"},
		"undefined_document":      {"undefined_document: x"},
		"cancelled":               {"cancelled: x"},
		"":                        {"x: eval_conflict_error: y", "connection refused", "", "1 error occurred: ", " error occurred: eval_a_b: x", "dial tcp 10.0.0.1:80: refused", "Not_A_Code: x"},
	} {
		for _, message := range messages {
			if got := codeOf(message); got != want {
				t.Errorf("%q: %q, want %q", message, got, want)
			}
		}
	}
}
