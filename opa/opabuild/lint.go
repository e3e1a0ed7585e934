// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/regometer/regometer/opa/opabuild/internal/gotool"
)

// A Lint is what OPA's linter says, in the version and with the configuration
// that OPA's tree pins, of v1/metrics with the drop-in and its tests in it.
type Lint struct {
	Skipped  string // why it was not run, or ""
	Findings string // "" is none
}

const linterPackage = "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@"

var pinnedLinter = regexp.MustCompile(`(?m)^GOLANGCI_LINT_VERSION\s*:?=\s*(v2\.\S+)`)

// linter returns the package of the linter that the tree in root pins, or "" if
// that is none of today's.
func linter(root string) string {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if m := pinnedLinter.FindSubmatch(text); err == nil && m != nil {
		return linterPackage + string(m[1])
	}
	return ""
}

// lint runs the linter on both trees: what it does not like in OPA as it is
// says nothing of the drop-in.
func lint(ctx context.Context, linter, opa, ours string) (Lint, error) {
	if linter == "" {
		return Lint{Skipped: "this OPA pins no golangci-lint of version 2"}, nil
	}
	run := func(tree string, args ...string) (string, error) {
		c := gotool.Command{Dir: tree, Args: append([]string{"run", linter}, args...), Env: []string{"CGO_ENABLED=0"}}
		out, err := c.Output(ctx)
		if err != nil && len(out) == 0 {
			out = []byte(err.Error())
		}
		return strings.TrimSpace(string(out)), err
	}
	// The flag, since it would wait for one that runs elsewhere.
	check := []string{"run", "--allow-parallel-runners", "./" + filepath.ToSlash(metricsDir) + "/..."}
	if out, err := run(opa, "version"); err != nil {
		return Lint{Skipped: "the linter cannot be had:\n" + out}, ctx.Err()
	}
	if out, err := run(opa, check...); err != nil {
		return Lint{Skipped: "it fails on the unmodified OPA, on this machine:\n" + out}, ctx.Err()
	}
	out, err := run(ours, check...)
	if err == nil {
		return Lint{}, nil
	}
	return Lint{Findings: out}, ctx.Err()
}
