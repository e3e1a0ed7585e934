// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestImports runs the program with each of the two imports that its comment
// names.
func TestImports(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	const ours = "\n\t\"github.com/regometer/regometer/opa/metrics\"\n"
	for _, imported := range []string{ours, "\n\t\"github.com/open-policy-agent/opa/v1/metrics\"\n"} {
		file := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(file, []byte(strings.Replace(string(source), ours, imported, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("go", "run", file).CombinedOutput()
		if err != nil {
			t.Fatalf("with the import%s: %v\n%s", imported, err, out)
		}
		first, rest, _ := strings.Cut(string(out), "\n")
		var metrics struct {
			Evaluation int64 `json:"timer_rego_query_eval_ns"`
		}
		if err := json.Unmarshal([]byte(rest), &metrics); err != nil || first != "allowed: true" || metrics.Evaluation <= 0 {
			t.Errorf("with the import%sgot %s (%v), want \"allowed: true\" and the time of the evaluation", imported, out, err)
		}
	}
	if !strings.Contains(string(source), ours) {
		t.Errorf("main.go does not import%s", ours)
	}
}
