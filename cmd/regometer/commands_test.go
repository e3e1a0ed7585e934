// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// exitStatusOf returns the status that a process ended with.
func exitStatusOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

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
	if got, want := lastLine(stderr.String()), `"eval" "--opa" "-x"]`; !strings.HasSuffix(got, want) {
		t.Errorf("standard error ends with %q, want %q", got, want)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// An interrupt ends the work of go too, and leaves nothing.
func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("os.Interrupt cannot be sent on Windows")
	}
	cmd := command(t, "verify", "--opa", tinyOPA(t), "--packages", "v1/metrics")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	var all []string
	for lines.Scan() {
		all = append(all, lines.Text())
		if strings.Contains(lines.Text(), "1 of 1: v1/metrics") {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	if status := exitStatusOf(t, cmd.Wait()); status != exitInterrupted || !slices.Contains(all, "regometer: interrupted") {
		t.Errorf("exit status %d, want %d; standard error:\n%s", status, exitInterrupted, strings.Join(all, "\n"))
	}
	_, cache, _ := strings.Cut(cmd.Env[len(cmd.Env)-1], "=")
	names, err := filepath.Glob(filepath.Join(cache, "*"))
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	// The copies of OPA stay for the next time.
	if !slices.Equal(names, []string{"tree.lock", "trees", "verify.lock"}) {
		t.Errorf("left %v, %v", names, err)
	}
}

func TestBuildUnmodified(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	file := filepath.Join(t.TempDir(), "opa")
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), []string{"build", "--unmodified", "--opa", tinyOPA(t), "-o", file}, nil, &stdout, &stderr)
	if status != 0 || stdout.String() != file+"\n" || !strings.Contains(stderr.String(), "building OPA") {
		t.Errorf("status %d\n%s\n%s", status, &stdout, &stderr)
	}
	if err := exec.CommandContext(t.Context(), file).Run(); err != nil {
		t.Error(err)
	}
}

func TestPatch(t *testing.T) {
	tree := tinyOPA(t)
	patch := func(args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), append([]string{"patch", tree}, args...), nil, &stdout, &stderr); status != 0 {
			t.Fatalf("status %d: %s", status, &stderr)
		}
		return filepath.ToSlash(stdout.String())
	}
	file := filepath.Join(tree, "v1", "metrics", "metrics.go")
	size := func() int64 {
		t.Helper()
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	if out := patch("--dry-run"); !strings.Contains(out, "would replace v1/metrics/metrics.go\n") || size() != before {
		t.Errorf("a dry run: %s", out)
	}
	if out := patch(); !strings.Contains(out, "replace v1/metrics/metrics.go\n") || size() == before {
		t.Errorf("patch: %s", out)
	}
	if out := patch(); !strings.HasPrefix(out, "nothing to do: ") {
		t.Errorf("patch again: %s", out)
	}
	if out := patch("--revert"); !strings.Contains(out, "restore v1/metrics/metrics.go\n") || size() != before {
		t.Errorf("revert: %s", out)
	}
}

// TestRealOPA checks that `regometer opa` ends as the real OPA does.
func TestRealOPA(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds OPA for minutes: make test-slow")
	}
	for _, c := range []struct {
		args   []string
		status int
	}{
		{[]string{"eval", "--fail-defined", "true"}, 1},
		{[]string{"eval", "--fail-defined", "data.nothing"}, 0},
		{[]string{"eval", "--fail", "data.nothing"}, 1},
		{[]string{"eval", "syntax error"}, 2},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"opa", "--"}, c.args...)...)
		cmd.Env = append(os.Environ(), isCommand+"=1") // with the user's cache
		out, err := cmd.CombinedOutput()
		if status := exitStatusOf(t, err); status != c.status {
			t.Errorf("regometer opa -- %q: exit status %d, want %d\n%s", c.args, status, c.status, out)
		}
	}
}
