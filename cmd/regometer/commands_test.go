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

func TestWriteSource(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "source")
	if stdout := succeed(t, "build", "--pure", "--opa", tinyOPA(t), "--write-source", dir); stdout != dir+"\n" {
		t.Errorf("prints %q", stdout)
	}
	if text := read(filepath.Join(dir, "v1", "metrics", "collection.go")); !strings.Contains(text, "Regometer") {
		t.Errorf("the source lacks the drop-in:\n%s", text)
	}
}
