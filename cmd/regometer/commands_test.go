// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// The process becomes OPA: arguments, streams and exit status are OPA's own.
func TestOPA(t *testing.T) {
	cmd := command(t, "opa", "--unmodified", "--opa", tinyOPA(t), "--", "eval", "--opa", "-x")
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("input"), &stdout, &stderr
	if status := exitStatusOf(t, cmd.Run()); status != 3 {
		t.Errorf("exit status %d, want 3", status)
	}
	if stdout.String() != "input" {
		t.Errorf("standard output %q", &stdout)
	}
	if want := "\"eval\" \"--opa\" \"-x\"]\n"; !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("standard error ends with %q, want %q", &stderr, want)
	}
}

func TestPatch(t *testing.T) {
	tree := tinyOPA(t)
	file := filepath.Join(tree, "v1", "metrics", "metrics.go")
	before := read(file)
	for _, c := range []struct {
		flag, prints string
		patched      bool
	}{
		{"--dry-run", "would replace v1/metrics/metrics.go\n", false},
		{"--dry-run=false", "replace v1/metrics/metrics.go\n", true},
		{"--dry-run=false", "nothing to do: ", true},
		{"--revert", "restore v1/metrics/metrics.go\n", false},
	} {
		stdout := succeed(t, "patch", tree, c.flag)
		if !strings.Contains(filepath.ToSlash(stdout), c.prints) || (read(file) != before) != c.patched {
			t.Errorf("patch %s prints %s", c.flag, stdout)
		}
	}
}
