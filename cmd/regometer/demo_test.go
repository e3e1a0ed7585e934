// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/opabuild"
)

func TestDemoRefuses(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--duration", "0s"}, exitFailure, "the duration must be greater than 0, not 0s"},
		{[]string{"--keep", full}, exitFailure, "is not empty: name a new or an empty folder to keep the output in"},
		{[]string{"--duration", "5"}, exitUsage, `invalid argument "5" for "--duration" flag`},
		{[]string{"--seed", "-1"}, exitUsage, `invalid argument "-1" for "--seed" flag`},
		{[]string{"policy"}, exitUsage, `unknown command "policy" for "regometer demo"`},
	} {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), append([]string{"demo"}, test.args...), nil, &stdout, &stderr)
		if status != test.status || stdout.Len() > 0 || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("demo %q: status %d, stdout %q, stderr %q; want status %d, %q",
				test.args, status, &stdout, &stderr, test.status, test.want)
		}
	}
}

func TestDemo(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds OPA twice: set REGOMETER_SLOW_TESTS=1")
	}
	keep := filepath.Join(t.TempDir(), "keep")
	var stdout, stderr, reported bytes.Buffer
	if status := run(t.Context(), []string{"demo", "--json", "--duration", "2s", "--keep", keep}, nil, &stdout, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	var result struct {
		OPA         string `json:"opa_version"`
		Stages      []struct{ Name string }
		PerDecision []struct {
			Name       string
			Unmodified float64
			DropIn     float64 `json:"drop_in"`
		} `json:"per_decision"`
		LogReport any `json:"log_report"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &result); err != nil {
		t.Fatal(err)
	}
	if "v"+result.OPA != opabuild.NewestVersion || len(result.Stages) < 6 || len(result.PerDecision) != 4 {
		t.Errorf("prints %s", &stdout)
	}
	for _, c := range result.PerDecision {
		if c.DropIn <= 0 || c.Unmodified <= 0 {
			t.Errorf("no figures for %+v", c)
		}
	}
	if status := run(t.Context(), []string{"report", "--format", "json", filepath.Join(keep, "drop-in.jsonl")}, nil, &reported, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	var report any
	if err := json.Unmarshal(reported.Bytes(), &report); err != nil || !reflect.DeepEqual(report, result.LogReport) {
		t.Errorf("%v; the demo reports %v\nregometer report %v", err, result.LogReport, report)
	}
	for _, name := range []string{"unmodified.jsonl", "report.txt", "report.json", "policy/rbac.rego"} {
		if _, err := os.Stat(filepath.Join(keep, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
}

// The example policy passes its own tests, in the form that OPA gives it.
func TestExamplePolicy(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds OPA: set REGOMETER_SLOW_TESTS=1")
	}
	opa, err := opabuild.Build(t.Context(), opabuild.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"test", "--threshold", "100", "."},
		{"check", "--strict", "."},
		{"fmt", "--fail", "--diff", "."},
	} {
		cmd := exec.Command(opa, args...)
		cmd.Dir = filepath.FromSlash("../../examples/policy")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("opa %s: %v\n%s", strings.Join(args, " "), err, output)
		}
	}
}
