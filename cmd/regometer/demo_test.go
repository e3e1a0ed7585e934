// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/opabuild"
)

func TestDemo(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds OPA twice: set REGOMETER_SLOW_TESTS=1")
	}
	keep := filepath.Join(t.TempDir(), "keep")
	stdout := succeed(t, "demo", "--json", "--duration", "2s", "--keep", keep)
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
	noError(json.Unmarshal([]byte(stdout), &result))
	if "v"+result.OPA != opabuild.NewestVersion || len(result.Stages) < 6 || len(result.PerDecision) != 4 {
		t.Errorf("prints %s", stdout)
	}
	for _, c := range result.PerDecision {
		// Go counts busy time with each garbage collection. A round on a slow
		// machine may have none.
		if c.Name != "busy_us" && (c.DropIn <= 0 || c.Unmodified <= 0) {
			t.Errorf("no figures for %+v", c)
		}
	}
	reported := succeed(t, "report", "--format", "json", filepath.Join(keep, "drop-in.jsonl"))
	var report any
	if err := json.Unmarshal([]byte(reported), &report); err != nil || !reflect.DeepEqual(report, result.LogReport) {
		t.Errorf("%v; the demo reports %v\nregometer report %v", err, result.LogReport, report)
	}
	for _, name := range []string{"unmodified.jsonl", "report.txt", "report.json", "policy/rbac.rego"} {
		if _, err := os.Stat(filepath.Join(keep, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
}

// The example policies pass their tests, in the form that OPA gives them. The
// tests of the servers' policy are in testdata, because a cluster gets all of
// its folder.
func TestExamplePolicy(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds OPA: set REGOMETER_SLOW_TESTS=1")
	}
	opa := must(opabuild.Build(t.Context(), opabuild.Options{}))
	for _, args := range [][]string{
		{"test", "--threshold", "100", "."},
		{"check", "--strict", "."},
		{"fmt", "--fail", "--diff", "."},
		{"test", "--threshold", "100", "../kubernetes/opa/policy/system.rego", "../../cmd/regometer/testdata"},
	} {
		cmd := exec.Command(opa, args...)
		cmd.Dir = filepath.FromSlash("../../examples/policy")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("opa %s: %v\n%s", strings.Join(args, " "), err, output)
		}
	}
}
