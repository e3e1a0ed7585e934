// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ProgramVerifyOptions say which program's tests to run. The zero value runs
// all of the module in the current folder.
type ProgramVerifyOptions struct {
	Dir      string    // as in ProgramOptions
	Packages []string  // as go test takes them; none is "./..."
	Flags    []string  // handed on to go test
	Run      string    // as in VerifyOptions, as are those that follow
	Count    int       // 0 = 1
	Keep     string    // "" = none
	Progress io.Writer // nil = silent
}

// VerifyProgram runs the tests of a program that has OPA inside, where they
// are, on the OPA that it selects and on that OPA with the drop-in, one package
// after another. As [Verify] does, it runs once more what does worse with the
// drop-in. It runs no linter.
func VerifyProgram(ctx context.Context, o ProgramVerifyOptions) (*Report, error) {
	d, err := loadDropIn()
	if err != nil {
		return nil, err
	}
	return verifyProgramWith(ctx, o, d)
}

func verifyProgramWith(ctx context.Context, o ProgramVerifyOptions, d dropIn) (*Report, error) {
	options := VerifyOptions{Run: o.Run, Count: o.Count, Keep: o.Keep}
	if err := options.check(); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "regometer-")
	if err != nil {
		return nil, withHint(err)
	}
	defer func() { _ = removeAll(work) }()
	pr, err := openProgram(ctx, o.Dir, work, o.Flags, nil, progress{o.Progress, time.Now()})
	if err != nil {
		return nil, err
	}
	v := &verifier{
		options:  options,
		opa:      pr.asIs(),
		flags:    pr.flags.all,
		progress: pr.progress,
	}
	if i := slices.IndexFunc(v.flags, isArgs); i >= 0 {
		v.flags, v.args = v.flags[:i], v.flags[i:]
	}
	patterns := o.Packages
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	out, err := v.opa.command("list", slices.Concat(pr.flags.list(), []string{"-f", withTests, "--"}, patterns)...).Output(ctx)
	if err != nil {
		return nil, err
	}
	packages := strings.Fields(string(out))
	if len(packages) == 0 {
		return nil, fmt.Errorf("no tests in %s in %s", strings.Join(patterns, ", "), pr.dir)
	}
	temp := filepath.Join(work, "tmp") // as in builder.compile
	if err := os.Mkdir(temp, 0o755); err != nil {
		return nil, withHint(err)
	}
	tree, err := pr.patch(ctx, d, false)
	if err != nil {
		return nil, err
	}
	ours, _, beside, err := pr.patched(ctx, tree)
	if err != nil {
		return nil, err
	}
	defer func() { _ = removeAll(beside) }()
	v.ours = ours
	pr.compareModules(ctx, v.ours)
	v.opa.env = append(v.opa.env, "GOTMPDIR="+temp)
	v.ours.env = append(v.ours.env, "GOTMPDIR="+temp)
	return v.run(ctx, fmt.Sprintf("the program in %s", pr.dir), packages)
}

// isArgs reports whether an argument is the flag of go test after which all is
// for the tests themselves, a package's name too.
func isArgs(arg string) bool { return arg == "-args" || arg == "--args" }
