// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/opabuild"
)

func TestDemo(t *testing.T) {
	skipSlow(t, "builds OPA twice")
	keep := filepath.Join(t.TempDir(), "keep")
	stdout := succeed(t, "demo", "--duration", "2s", "--keep", keep)
	for _, want := range []string{strings.TrimPrefix(opabuild.NewestVersion, "v"), "rego_query_eval", "data.rbac.", "time in the handler", "allocations"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%s is missing in\n%s", want, stdout)
		}
	}
	for _, name := range []string{"unmodified.jsonl", "policy/rbac.rego"} {
		if _, err := os.Stat(filepath.Join(keep, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
}

// The example policies pass their tests, in the form that OPA gives them. The
// tests of the servers' policy are in testdata, because a cluster gets all of
// its folder.
func TestExamplePolicy(t *testing.T) {
	skipSlow(t, "builds OPA")
	opa := must(opabuild.Build(t.Context(), opabuild.Options{}))
	for _, args := range [][]string{
		{"test", "--threshold", "100", "."},
		{"check", "--strict", "."},
		{"fmt", "--fail", "--diff", "."},
		{"test", "--threshold", "100", "../kubernetes/opa/policy/system.rego", "../../cmd/regometer/testdata/system_test.rego"},
	} {
		cmd := exec.Command(opa, args...)
		cmd.Dir = filepath.FromSlash("../../examples/policy")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("opa %s: %v\n%s", strings.Join(args, " "), err, output)
		}
	}
}
