// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
)

// TestGroup: nothing that Gremlins starts outlives it. A script stands in for
// Gremlins. Its child has a pipe open until it ends.
func TestGroup(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no process groups")
	}
	for _, ending := range []string{"exit 1", "wait"} {
		dir := t.TempDir()
		pipe := filepath.Join(dir, "pipe")
		if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		script := "#!/bin/sh\nexec 3>" + pipe + "\nsleep 60 >/dev/null 2>&1 &\n" + ending + "\n"
		if err := os.WriteFile(filepath.Join(dir, "gremlins"), []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := gremlins(ctx, dir, ".")
			ended <- err
		}()
		child, err := os.Open(pipe) // waits for the script to open it
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if ending == "wait" {
			cancel()
		}
		err = <-ended
		cancel()
		if _, wrong := io.ReadAll(child); err == nil || wrong != nil || time.Since(start) > 30*time.Second {
			t.Errorf("%s: the error is %v; the child lived for %v: %v", ending, err, time.Since(start), wrong)
		}
	}
}

// TestRate: a survivor is known by its code.
func TestRate(t *testing.T) {
	t.Chdir("../../..")
	const output = `Starting...
      KILLED CONDITIONALS_NEGATION at main_test.go:1:2
   TIMED OUT INVERT_LOOPCTRL at main_test.go:1:2
       LIVED ARITHMETIC_BASE at main_test.go:4:1
       LIVED INVERT_LOGICAL at main_test.go:4:1
 NOT COVERED INVERT_LOGICAL at main_test.go:2:1
  NOT VIABLE INVERT_LOGICAL at main_test.go:2:1
Mutation testing completed in 3 seconds
`
	const want = "\nbench/project/mutants: 50.0 %: 1 killed, 1 timed out, 2 survived, 1 of them explained; 1 not covered\n" +
		"bench/project/mutants/main_test.go:4 | ARITHMETIC_BASE | package main\n"
	got, err := rate("bench/project/mutants", output, "bench/project/mutants/main_test.go | INVERT_LOGICAL | package main\n\twhy\n")
	if got != want || err == nil {
		t.Errorf("got %v, %s\nwant an error, %s", err, got, want)
	}
	if _, err := rate("p", strings.Repeat("KILLED X at y.go:1:2\n", 9), ""); err != nil {
		t.Error(err)
	}
	if _, err := rate("p", "", ""); err == nil {
		t.Error("no error without a mutant")
	}
}

// TestExplanations: each explanation has a reason, and its code is there.
func TestExplanations(t *testing.T) {
	t.Chdir("../../..")
	text, err := os.ReadFile(explanations)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(string(text), "")), "\n")
	for ; len(lines) > 1; lines = lines[2:] {
		fields := strings.SplitN(lines[0], " | ", 3)
		code, err := os.ReadFile(fields[0])
		if err != nil || len(fields) != 3 || !strings.Contains(strings.ReplaceAll(string(code), "\t", ""), "\n"+fields[2]+"\n") {
			t.Errorf("%s: no such line: %q", explanations, lines[0])
		}
		if !strings.HasPrefix(lines[1], "\t") {
			t.Errorf("%s: %q has no reason in a line that begins with a tab", explanations, lines[0])
		}
	}
	if len(lines) != 0 {
		t.Errorf("%s: %q has no reason", explanations, lines[0])
	}
}

// TestCopyTested: a copy has the tests of one package, and a module in it finds
// the root module.
func TestCopyTested(t *testing.T) {
	t.Chdir("../../..")
	for _, tested := range []string{"exphist", "prom"} {
		dir := t.TempDir()
		if err := copyTested(t.Context(), dir, tested); err != nil {
			t.Fatal(err)
		}
		out, err := measure.Command(t.Context(), filepath.Join(dir, tested), "go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}",
			"./...", measure.RootModule+"/...")
		if err != nil || strings.TrimSpace(string(out)) != filepath.Join(dir, tested) {
			t.Errorf("packages with tests in the copy for %s: %s, %v", tested, out, err)
		}
		if tested == "exphist" {
			continue // a package of the root module
		}
		alone := t.TempDir()
		if err := os.CopyFS(alone, os.DirFS(filepath.Join(dir, tested))); err != nil {
			t.Fatal(err)
		}
		if out, err := measure.Command(t.Context(), alone, "go", "build", "./..."); err != nil {
			t.Errorf("%s alone: %s, %v", tested, out, err)
		}
	}
}
