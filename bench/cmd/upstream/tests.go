// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/regometer/regometer/bench/difftest"
	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/opa/opabuild"
)

// tests runs OPA's tests and ours after each step.
func (p *prover) tests(ctx context.Context) error {
	o := opabuild.VerifyOptions{Packages: p.packages, Run: p.run, NoLint: p.quick, Progress: p.progress.W}
	reports, err := opabuild.VerifySeries(ctx, o, func(n int, tree string) error { return p.check(ctx, n, tree) })
	if err != nil {
		return err
	}
	for i, r := range reports {
		if r.Lint != nil && r.Lint.Skipped != "" {
			p.progress.Printf("%s: OPA's linter was NOT RUN: %s", p.name(i+1), r.Lint.Skipped)
		}
		if r.OK() {
			continue
		}
		var b strings.Builder
		if err := r.Write(&b); err != nil {
			return err
		}
		p.failed(i+1, "OPA's tests and linter", errors.New("\n"+b.String()))
	}
	return nil
}

// check does with a step's tree what OPA's own tests do not.
func (p *prover) check(ctx context.Context, n int, tree string) error {
	if n > 0 {
		p.progress.Printf("%s: go vet", p.name(n))
		args := []string{"vet", "-mod=mod"}
		for _, dir := range p.folders(n) {
			args = append(args, "./"+dir)
		}
		if _, err := measure.Command(ctx, tree, "go", args...); err != nil {
			p.failed(n, "go vet", err)
		}
	}
	if p.quick && n < len(p.steps) {
		return ctx.Err()
	}
	p.progress.Printf("%s: conformance suite, differential tests, tests of the sample", p.name(n))
	if err := p.difftest(ctx, n, tree); err != nil {
		p.failed(n, "our tests", err)
	}
	return ctx.Err()
}

// folders returns those that the first n steps change.
func (p *prover) folders(n int) (folders []string) {
	seen := map[string]bool{}
	for _, s := range p.steps[:n] {
		for _, name := range s.Paths() {
			if dir := filepath.ToSlash(filepath.Dir(name)); !seen[dir] {
				seen[dir] = true
				folders = append(folders, dir)
			}
		}
	}
	return folders
}

// difftest runs the tests of bench/difftest with the tree in the place of the
// OPA that they otherwise compare with.
func (p *prover) difftest(ctx context.Context, n int, tree string) error {
	dir, err := os.MkdirTemp(p.work, "difftest-")
	if err != nil {
		return err
	}
	modfile, err := p.Modfile(ctx, dir, tree)
	if err != nil {
		return err
	}
	binary := filepath.Join(dir, "difftest.test")
	build := []string{"test", "-c", "-mod=mod", "-modfile=" + modfile, "-o", binary}
	if p.fuzztime > 0 {
		build = append(build, "-fuzz=.") // counts what is reached
	}
	if _, err := measure.Command(ctx, p.Bench, "go", append(build, "./difftest")...); err != nil {
		return err
	}
	var names []string
	for _, s := range p.steps[:n] {
		names = append(names, s.Name)
	}
	env := []string{difftest.StepsVariable + "=" + strings.Join(names, " ")}
	folder := filepath.Join(p.Bench, "difftest") // with the kept corpus
	if _, err := measure.CommandWith(ctx, env, folder, binary, "-test.timeout=10m"); err != nil || p.fuzztime == 0 {
		return err
	}
	_, err = measure.CommandWith(ctx, env, dir, binary, "-test.run=^$", "-test.fuzz=FuzzPrograms", "-test.fuzztime="+p.fuzztime.String(),
		"-test.fuzzminimizetime=20x", "-test.fuzzcachedir="+filepath.Join(dir, "corpus"))
	return err
}
