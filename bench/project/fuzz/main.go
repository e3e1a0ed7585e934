// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Fuzz runs `go test -fuzz` for each fuzz target of all modules, one after the
// other. CONTRIBUTING.md says when to use it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
)

const usage = `Usage, in the repository's root: go run ./bench/project/fuzz [flags]

Fuzzes each target of all modules. A finding in one target does not keep the next
from being fuzzed. Go writes each finding as a file below the package's
testdata/fuzz. The exit status is 1 if there are findings.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	// Go before 1.27 sometimes reports the end of a duration as a failure
	// (https://go.dev/issue/75804), but never the end of a count.
	each := flag.String("time", "5000x", "fuzz each target for this `duration or count`, such as 10m or 5000x")
	only := flag.String("run", "", "only targets that match this `regexp`, such as 'rollup FuzzAdd'")
	flag.Parse()
	err := fuzz(ctx, *each, *only, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

// A target is a fuzz test.
type target struct{ pkg, name string }

func (t target) String() string { return t.pkg + " " + t.name }

func fuzz(ctx context.Context, each, only string, stdout io.Writer) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	targets, err := findTargets(ctx, "github.com/regometer/regometer/...")
	if err != nil {
		return err
	}
	var failed []target
	fuzzed := 0
	for _, t := range targets {
		if !wanted.MatchString(t.String()) {
			continue
		}
		fmt.Fprintf(stdout, "\n%s\n", t)
		// Without a limit, Go takes up to a minute to shorten each new input.
		cmd := exec.CommandContext(ctx, "go", "test", "-run=^$", "-fuzz=^"+t.name+"$", "-fuzztime="+each, "-fuzzminimizetime=20x", t.pkg)
		cmd.Stdout, cmd.Stderr = stdout, stdout
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // Go then writes what it found
		if fuzzed++; cmd.Run() != nil {
			failed = append(failed, t)
		}
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
	}
	switch {
	case fuzzed == 0:
		return fmt.Errorf("none of the %d targets matches %q", len(targets), only)
	case failed != nil:
		return fmt.Errorf("%d of %d targets failed: %v; commit the new files in testdata/fuzz with the fix", len(failed), fuzzed, failed)
	}
	fmt.Fprintf(stdout, "\nfuzzed %d targets without a finding\n", fuzzed)
	return nil
}

var fuzzTest = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// findTargets returns the fuzz tests of packages. It reads the sources because
// `go test -list` would link every test.
func findTargets(ctx context.Context, packages string) (targets []target, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles", packages)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, ImportPath           string
			TestGoFiles, XTestGoFiles []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return targets, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for _, file := range append(p.TestGoFiles, p.XTestGoFiles...) {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				return nil, err
			}
			for _, name := range fuzzTest.FindAllSubmatch(text, -1) {
				targets = append(targets, target{p.ImportPath, string(name[1])})
			}
		}
	}
}
