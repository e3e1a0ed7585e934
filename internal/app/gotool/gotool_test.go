// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package gotool

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
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

func TestRunFailure(t *testing.T) {
	err := Command{Args: []string{"no-such-command"}}.Run(t.Context())
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Stderr, "no-such-command") {
		t.Errorf("got %v, want an *Error that holds what go printed", err)
	}
}

func TestNoToolchain(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Command{Args: []string{"version"}}.Run(t.Context())
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("got %v, want a hint to install Go", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Command{Args: []string{"version"}}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=vendor")
	t.Setenv("GOWORK", "/nowhere/go.work")
	env, err := Env(t.Context(), nil, "GOFLAGS", "GOWORK")
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(env["GOFLAGS"]) != "" || env["GOWORK"] != "off" {
		t.Errorf("go sees %q", env)
	}
}

func TestStderrTail(t *testing.T) {
	var noted []string
	b := stderrTail{note: func(line string) bool {
		noted = append(noted, line)
		return strings.HasPrefix(line, "note")
	}}
	for _, s := range []string{"no", "te 1\nkept 1\nnote 2\n\nkep", "t 2"} {
		fmt.Fprint(&b, s)
	}
	if got, want := b.String(), "kept 1\n\nkept 2"; got != want || len(noted) != 5 {
		t.Errorf("kept %q, want %q; noted %q", got, want, noted)
	}
	var long stderrTail
	for range 10000 {
		fmt.Fprintln(&long, "0123456789")
	}
	if n := len(long.String()); n < tailSize || n > 2*tailSize || !strings.HasSuffix(long.String(), "789\n") {
		t.Errorf("kept %d bytes", n)
	}
}
