// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/internal/app/gotool"
)

// A Lint is the outcome of OPA's linter for the packages that change and their
// tests. The linter has the version and the configuration that OPA's tree pins.
type Lint struct {
	Folders  []string // in OPA's tree
	Skipped  string   // why the linter did not run, or ""
	Findings string   // its findings, or ""
}

const linterPackage = "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@"

var pinnedLinter = regexp.MustCompile(`(?m)^GOLANGCI_LINT_VERSION\s*:?=\s*(v2\.\S+)`)

// linter returns the package of the linter that the tree in root pins, or "" if
// it pins none of version 2.
func linter(root string) string {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if m := pinnedLinter.FindSubmatch(text); err == nil && m != nil {
		return linterPackage + string(m[1])
	}
	return ""
}

// lint runs OPA's linter on the packages that change, and adds its outcome to
// the report.
func (v *verifier) lint(ctx context.Context, report *Report) error {
	folders := slices.DeleteFunc(slices.Clone(v.folders), func(f string) bool { return !slices.Contains(v.packages, f) })
	if len(folders) == 0 || v.options.Run != "" || v.options.NoLint {
		return nil
	}
	v.progress.printf("running OPA's linter on %s; the first time Go must compile the linter", strings.Join(folders, " and "))
	defer v.progress.repeat(30*time.Second, "still running the linter")()
	l, err := lint(ctx, linter(v.opa.dir), v.opa.dir, v.ours.dir, folders)
	report.Lint = &l
	return err
}

// lint runs the linter on folders of both trees. If it finds something in the
// unmodified OPA, it is skipped, because its findings say nothing about the
// change.
func lint(ctx context.Context, linter, opa, ours string, folders []string) (Lint, error) {
	l := Lint{Folders: folders}
	if linter == "" {
		l.Skipped = "this OPA pins no golangci-lint of version 2"
		return l, nil
	}
	// With the flag the linter does not wait for another linter that runs.
	args := []string{"run", linter, "run", "--allow-parallel-runners"}
	for _, f := range folders {
		args = append(args, "./"+f+"/...")
	}
	run := func(tree string) (string, error) {
		out, err := gotool.Command{Dir: tree, Args: args, Env: []string{"CGO_ENABLED=0"}}.Output(ctx)
		if err != nil && len(out) == 0 {
			out = []byte(err.Error())
		}
		return strings.TrimSpace(string(out)), err
	}
	if out, err := run(opa); err != nil {
		l.Skipped = "it is not available, or fails on the unmodified OPA:\n" + out
	} else if out, err := run(ours); err != nil {
		l.Findings = out
	}
	return l, ctx.Err()
}
