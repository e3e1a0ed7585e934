// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Logs as OPA's releases write them.
func TestLogs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"opa-0.13-compose.log":     "http/authz/allow allowed  3 metrics at 3; 1 other",
		"opa-0.23-envoy.log":       "istio/authz/allow denied  2 metrics at 3; 2 other",
		"opa-1.22-docker.log":      "app/rbac/allow allowed  4 metrics at 2; app/rbac/allow error eval_conflict_error 2 metrics at 3; 1 other",
		"opa-1.22-text.log":        "app/rbac/allow undefined  2 metrics at 7; 7 other",
		"opa-1.22-file-logger.log": "app/rbac/allow denied  2 metrics at 1; 0 other",
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		r := readAll(string(text))
		got := ""
		for _, e := range r.Events {
			got += fmt.Sprintf("%s %s %s %d metrics at %d; ", e.Path, e.Outcome, e.Code, len(e.Measures), e.Line)
		}
		if got += fmt.Sprintf("%d other", r.Other); got != want || len(r.Problems) > 0 {
			t.Errorf("%s: %q, %q, want %q", name, got, r.Problems, want)
		}
	}
}
