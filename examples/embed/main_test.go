// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	check(t, out.String())
}

// TestOneImport sees to it that the program works with either import.
func TestOneImport(t *testing.T) {
	const ours, theirs = `"github.com/regometer/regometer/opa/metrics"`, `"github.com/open-policy-agent/opa/v1/metrics"`
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(source, []byte("\n\t"+ours+"\n")) != 1 {
		t.Fatalf("main.go does not import %s exactly once", ours)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	source = bytes.Replace(source, []byte("\n\t"+ours+"\n"), []byte("\n\t"+theirs+"\n"), 1)
	path, err := filepath.Abs("main.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, source, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, files, 0o644); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	program := exec.Command("go", "run", "-overlay", overlay, ".")
	program.Stderr = &stderr
	out, err := program.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	check(t, string(out))
}

func check(t *testing.T, out string) {
	t.Helper()
	first, rest, _ := strings.Cut(out, "\n")
	if first != "allowed: true" {
		t.Errorf("the first line is %q", first)
	}
	var metrics map[string]any
	if err := json.Unmarshal([]byte(rest), &metrics); err != nil {
		t.Fatalf("%v in %s", err, rest)
	}
	if ns, ok := metrics["timer_rego_query_eval_ns"].(float64); !ok || ns <= 0 {
		t.Errorf("timer_rego_query_eval_ns is %v in %s", metrics["timer_rego_query_eval_ns"], rest)
	}
}
