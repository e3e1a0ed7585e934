// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package gotool

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestHint(t *testing.T) {
	for _, c := range []struct{ stderr, want string }{
		{"", ""},
		{"./main.go:3:1: syntax error", ""},
		{"write $WORK/b001/_pkg_.a: no space left on device", "disk is full"},
		{"go: go.mod requires go >= 1.26.0 (running go 1.25.1; GOTOOLCHAIN=local)", "too old"},
		{"module lookup disabled by GOPROXY=off", "may not download"},
		{"dial tcp: lookup proxy.example on 127.0.0.1:53: no such host", "could not be reached"},
		{"unknown revision v1.99.0", "no such version"},
		{"go: download go1.27.9: golang.org/toolchain@v0.0.1-go1.27.9.linux-amd64: reading https://proxy.example/x.zip: 404 Not Found", "Go release"},
		{"reading https://proxy.example/x.info: 404 Not Found", "no such version"},
		{"open /cache/00: permission denied", "permissions"},
		{"open /x: permission denied; write: no space left on device", "disk is full"},
	} {
		got := Hint(c.stderr)
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("Hint(%q) = %q, want something with %q", c.stderr, got, c.want)
		}
	}
}

func TestRunFails(t *testing.T) {
	err := Command{Args: []string{"no-such-command"}}.Run(t.Context())
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Stderr, "no-such-command") {
		t.Errorf("got %v, want an *Error with the output of go", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Command{Args: []string{"version"}}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	t.Setenv("PATH", t.TempDir())
	err = Command{Args: []string{"version"}}.Run(t.Context())
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("got %v, want a hint to install Go", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	dir := t.TempDir()
	const script = "#!/bin/sh\nprintf 'go: downloading a.b/c v1.0.0\\n./x.go: fault\\n' >&2\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if err := (Command{}).Run(t.Context()); !errors.As(err, &e) || e.Stderr != "./x.go: fault" {
		t.Errorf("got %v, want only the fault", err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=vendor")
	t.Setenv("GOWORK", "/nowhere/go.work")
	out, err := Command{Args: []string{"env", "GOFLAGS", "GOWORK"}}.Output(t.Context())
	if strings.TrimSpace(string(out)) != "off" || err != nil {
		t.Errorf("go sees %q, %v", out, err)
	}
}
