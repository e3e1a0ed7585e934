// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Upstream writes the steps in internal/app/opabuild/_upstream as patches for
// OPA to dist/upstream. After each step it runs OPA's tests and linter, as
// "regometer verify --upstream=N" does, and Regometer's differential tests.
// docs/upstream.md says how to send the patches.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/regometer/regometer/bench/difftest"
	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/app/opabuild"
)

// packages are folders of OPA's tree whose tests run.
var packages = []string{
	"v1/metrics", "v1/topdown", "v1/rego", "v1/server", "v1/hooks", "v1/sdk", "v1/plugins/logs", "v1/plugins/status", "v1/profiler", "v1/runtime", "cmd",
}

func main() {
	s := series{packages: packages, progress: measure.Progress{W: os.Stderr, Start: time.Now()}}
	patches := flag.Bool("patches", false, "only write the patches")
	flag.BoolVar(&s.quick, "quick", false, "run only the tests of v1/metrics, and no linter")
	flag.Parse()
	if s.quick {
		s.packages = packages[:1]
	}
	measure.Main("upstream", func(ctx context.Context) error { return s.run(ctx, *patches) })
}

type series struct {
	measure.Repository
	quick    bool
	packages []string
	progress measure.Progress

	steps []opabuild.Step
	opa   string // folder of a Git repository with a commit for each step
}

func (s *series) run(ctx context.Context, patches bool) (err error) {
	if s.Repository, err = measure.FindRepository(ctx); err != nil {
		return err
	}
	if s.steps, err = opabuild.Series(); err != nil {
		return err
	}
	if s.opa, err = os.MkdirTemp("", "upstream-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.opa)
	if err := s.commitAll(ctx); err != nil {
		return err
	}
	if err := s.writePatches(ctx); err != nil || patches {
		return err
	}
	var failed []string
	for n := 1; n <= len(s.steps); n++ {
		if err := s.test(ctx, n); ctx.Err() != nil {
			return err
		} else if err != nil {
			failed = append(failed, fmt.Sprintf("step %d (%s): %v", n, s.steps[n-1].Name, err))
			s.progress.Printf("FAILED %s", failed[len(failed)-1])
		}
	}
	if failed != nil {
		return fmt.Errorf("the series fails:\n%s", strings.Join(failed, "\n"))
	}
	return nil
}

func (s *series) git(ctx context.Context, args ...string) error {
	// Who sends a patch becomes its author: see docs/upstream.md.
	identity := []string{"-c", "user.name=Your Name", "-c", "user.email=you@example.com"}
	// Settings of the user, such as those of signatures, hooks and diffs, must
	// not show in the patches.
	env := []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}
	_, err := measure.CommandWith(ctx, env, s.opa, "git", append(identity, args...)...)
	return err
}

// commitAll makes the Git repository, with a commit and a tag for each step.
func (s *series) commitAll(ctx context.Context) error {
	source, err := opabuild.UpstreamSource(ctx)
	if err != nil {
		return err
	}
	if err := os.CopyFS(s.opa, os.DirFS(source)); err != nil {
		return err
	}
	commit := func(message string) error {
		return errors.Join(s.git(ctx, "add", "--all", "--force"), s.git(ctx, "commit", "--quiet", "--cleanup=verbatim", "--message="+message))
	}
	if err := errors.Join(s.git(ctx, "init", "--quiet"), commit("OPA "+opabuild.NewestVersion), s.git(ctx, "tag", "step-0")); err != nil {
		return err
	}
	for i, step := range s.steps {
		if err := opabuild.ApplySteps(s.opa, s.steps[i:i+1]); err != nil {
			return err
		}
		if err := errors.Join(commit(step.Message), s.git(ctx, "tag", fmt.Sprintf("step-%d", i+1))); err != nil {
			return err
		}
	}
	return nil
}

// writePatches replaces the folder dist/upstream with one that has the patches.
func (s *series) writePatches(ctx context.Context) error {
	dist := filepath.Join(s.Root, "dist", "upstream")
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	s.progress.Printf("writing %d patches to %s", len(s.steps), dist)
	return s.git(ctx, "format-patch", "--quiet", "--output-directory="+dist, "step-0")
}

// test runs OPA's tests and Regometer's own after the first n steps.
func (s *series) test(ctx context.Context, n int) error {
	report, err := opabuild.Verify(ctx, opabuild.VerifyOptions{
		Options: opabuild.Options{Upstream: n, Progress: s.progress.W}, Packages: s.packages, NoLint: s.quick,
	})
	if err != nil {
		return err
	}
	if report.Lint != nil && report.Lint.Skipped != "" {
		s.progress.Printf("step %d: OPA's linter did not run: %s", n, report.Lint.Skipped)
	}
	if !report.OK() {
		var text strings.Builder
		return errors.Join(report.Write(&text), errors.New(text.String()))
	}
	if s.quick && n < len(s.steps) {
		return nil
	}
	s.progress.Printf("step %d: Regometer's differential tests", n)
	if err := s.git(ctx, "checkout", "--quiet", "--force", fmt.Sprintf("step-%d", n)); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "upstream-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	modfile, err := s.Modfile(ctx, dir, s.opa)
	if err != nil {
		return err
	}
	var names []string
	for _, step := range s.steps[:n] {
		names = append(names, step.Name)
	}
	env := []string{difftest.StepsVariable + "=" + strings.Join(names, " ")}
	_, err = measure.CommandWith(ctx, env, s.Bench, "go", "test", "-mod=mod", "-modfile="+modfile, "./difftest")
	return err
}
