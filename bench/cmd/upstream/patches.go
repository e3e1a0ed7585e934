// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/outfile"
	"github.com/regometer/regometer/opa/opabuild"
)

// maxLines is what the series may change, added and deleted lines together,
// without tests and without the decision hook.
const maxLines = 800

// hookStep is the step that maxLines does not count.
const hookStep = "decision-hook"

// patches writes the patches, puts them into a checkout by git am and makes
// sure that the result is what the other parts test and measure.
func (p *prover) patches(ctx context.Context) error {
	source, err := opabuild.UpstreamSource(ctx)
	if err != nil {
		return err
	}
	patches, err := opabuild.WritePatches(ctx, source, p.dist, p.steps, p.progress.W)
	if err != nil {
		return err
	}
	p.progress.Printf("patches: %d in %s, %d lines without tests and hook, of %d", len(patches), p.dist, changedLines(patches), maxLines)
	if n := changedLines(patches); n > maxLines {
		p.failures = append(p.failures, fmt.Sprintf("the series changes %d lines, more than %d", n, maxLines))
	}
	if err := p.keepLines(patches); err != nil {
		return err
	}
	p.progress.Printf("patches: git am in a checkout of OPA %s", opabuild.UpstreamVersion)
	checkout := filepath.Join(p.work, "checkout")
	if err := os.CopyFS(checkout, os.DirFS(source)); err != nil {
		return err
	}
	defer os.RemoveAll(checkout)
	// Nobody's settings, and nobody's name.
	env := []string{"HOME=" + p.work, "XDG_CONFIG_HOME=" + p.work, "GIT_CONFIG_NOSYSTEM=1"}
	git := func(args ...string) error {
		args = append([]string{"-c", "user.name=Regometer", "-c", "user.email=regometer@localhost", "-c", "core.autocrlf=false", "-c", "gc.auto=0"}, args...)
		_, err := measure.CommandWith(ctx, env, checkout, "git", args...)
		return err
	}
	am := []string{"am", "--quiet", "--signoff"}
	for _, patch := range patches {
		file, err := filepath.Abs(patch.File)
		if err != nil {
			return err
		}
		am = append(am, file)
	}
	for _, args := range [][]string{{"init", "--quiet", "--template="}, {"add", "--all", "--force"}, {"commit", "--quiet", "--message=OPA"}, {"tag", "unmodified"},
		am, {"tag", "patched"}, {"reset", "--quiet", "--hard", "unmodified"}} {
		if err := git(args...); err != nil {
			return err
		}
	}
	if err := opabuild.ApplySteps(checkout, p.steps); err != nil {
		return err
	}
	if err := git("add", "--all", "--force"); err != nil {
		return err
	}
	if err := git("diff", "--cached", "--exit-code", "patched"); err != nil {
		return fmt.Errorf("git am makes another source than the steps do: %w", err)
	}
	return nil
}

// keepLines writes what each step adds and deletes for the page, or with -quick
// makes sure that it is what is kept.
func (p *prover) keepLines(patches []opabuild.StepPatch) error {
	var b strings.Builder
	for _, patch := range patches {
		fmt.Fprintf(&b, "%d %d %s\n", patch.Added, patch.Deleted, stepImpl(patch.Step))
	}
	file := filepath.Join(p.out, "upstream", linesFile)
	if !p.quick {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return outfile.Write(file, []byte(b.String()))
	}
	if kept, err := readIfThere(file); err != nil || kept != b.String() {
		p.failures = append(p.failures, "docs/upstream/"+linesFile+" is not what the steps change; run: go run ./bench/cmd/upstream -parts patches")
	}
	return nil
}

func changedLines(patches []opabuild.StepPatch) int {
	n := 0
	for _, p := range patches {
		if p.Step.Name != hookStep {
			n += p.Added + p.Deleted
		}
	}
	return n
}
