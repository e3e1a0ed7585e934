// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/outfile"
	"github.com/regometer/regometer/opa/opabuild"
)

// What is measured, beside the steps: their folder's names are theirs.
const (
	unmodified = "opa"
	dropIn     = "drop-in"
)

func stepImpl(s opabuild.Step) string { return fmt.Sprintf("%02d-%s", s.Number, s.Name) }

// series is the name of the last step, which is all of them.
func series(steps []opabuild.Step) string { return stepImpl(steps[len(steps)-1]) }

// stepCases are what every step is measured by. They are rows of the catalogue,
// and the ones that the series is judged by.
var stepCases = []string{
	"marshal_opa", "timer_restart", "marshal_rotated", "request", "request_all", "request_json", "instrumented_all", "update_full", "statistics",
}

// A turn is one of those that are measured one after the other in each run.
type turn struct {
	impl, binary, bench string
}

// benchmarks measures the unmodified OPA, the series and the drop-in by all
// rows of the catalogue and by decisions in a program that embeds OPA, and each
// step between by some rows.
func (p *prover) benchmarks(ctx context.Context) error {
	turns, err := p.build(ctx)
	if err != nil {
		return err
	}
	lines := map[string][]byte{} // by impl
	var printed []byte
	for i := range p.runs {
		p.progress.Printf("benchmarks: run %d of %d", i+1, p.runs)
		for j := range turns {
			t := turns[(i+j)%len(turns)]
			out, err := measure.Command(ctx, p.Bench, t.binary, "-test.run=^$", "-test.bench="+t.bench, "-test.benchtime="+p.benchtime, "-test.timeout=1h")
			if err != nil {
				return err
			}
			printed = out
			lines[t.impl] = append(lines[t.impl], onlyFigures(out)...)
		}
	}
	header := measure.Header(opabuild.UpstreamVersion, fmt.Sprintf("upstream -parts benchmarks -runs %d -benchtime %s", p.runs, p.benchtime), printed)
	dir := filepath.Join(p.out, "upstream")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "[0-9][0-9]-*")) // of steps that may be no more
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	for impl, text := range lines {
		if err := outfile.Write(filepath.Join(dir, impl+".txt"), append(header[:len(header):len(header)], text...)); err != nil {
			return err
		}
	}
	return p.benchstat(ctx)
}

// build builds the test binaries. Each has the drop-in as well; it is measured
// in that of the whole series.
func (p *prover) build(ctx context.Context) (turns []turn, err error) {
	source, err := opabuild.UpstreamSource(ctx)
	if err != nil {
		return nil, err
	}
	tree := filepath.Join(p.work, "opa")
	if err := os.CopyFS(tree, os.DirFS(source)); err != nil {
		return nil, err
	}
	modfile, err := p.Modfile(ctx, p.work, tree)
	if err != nil {
		return nil, err
	}
	compile := func(impl, pkg string, flags ...string) (binary string, err error) {
		binary = filepath.Join(p.work, impl+"-"+filepath.Base(pkg)+".test")
		args := append([]string{"test", "-c", "-trimpath", "-mod=mod", "-modfile=" + modfile, "-o", binary}, flags...)
		_, err = measure.Command(ctx, p.Bench, "go", append(args, pkg)...)
		return binary, err
	}
	some := "Metrics/^case=(" + strings.Join(stepCases, "|") + ")$/^goroutines=1$/^impl=opa$"
	const all, ours, decisions = "Metrics/././^impl=opa$", "Metrics/././^impl=regometer$", "Decision/^case=(noop|marshal|instrumented)$"
	for n := range len(p.steps) + 1 {
		p.progress.Printf("benchmarks: building with %s", p.name(n))
		impl, bench := unmodified, all
		if n > 0 {
			if err := opabuild.ApplySteps(tree, p.steps[n-1:n]); err != nil {
				return nil, err
			}
			if impl = stepImpl(p.steps[n-1]); n < len(p.steps) {
				bench = some
			}
		}
		binary, err := compile(impl, ".")
		if err != nil {
			return nil, err
		}
		turns = append(turns, turn{impl, binary, bench})
		if n == len(p.steps) {
			turns = append(turns, turn{dropIn, binary, ours})
		}
		if n == 0 || n == len(p.steps) {
			if binary, err = compile(impl, "./embedded"); err != nil {
				return nil, err
			}
			turns = append(turns, turn{impl, binary, decisions})
		}
	}
	p.progress.Printf("benchmarks: building with the drop-in in OPA")
	if err := os.RemoveAll(tree); err != nil {
		return nil, err
	}
	if err := os.CopyFS(tree, os.DirFS(source)); err != nil {
		return nil, err
	}
	if _, err := opabuild.Patch(ctx, tree, false); err != nil {
		return nil, err
	}
	binary, err := compile(dropIn, "./embedded", "-tags=dropin")
	return append(turns, turn{dropIn, binary, decisions}), err
}

var (
	figureLine = regexp.MustCompile(`(?m)^Benchmark\S+\s+\d+\s.*\n`)
	implPart   = regexp.MustCompile(`/impl=[a-z]+`)
)

// onlyFigures returns the lines with figures, without the implementation in
// their names: the file's name tells it, so that benchstat compares files.
func onlyFigures(output []byte) []byte {
	lines := bytes.Join(figureLine.FindAll(output, -1), nil)
	return implPart.ReplaceAll(lines, nil)
}

const benchstatCommand = "golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da"

// benchstat writes what it says of each step beside the step before and beside
// the unmodified OPA.
func (p *prover) benchstat(ctx context.Context) error {
	dir := filepath.Join(p.out, "upstream")
	filter := "/case:(" + strings.Join(stepCases, " OR ") + ") /goroutines:1"
	compare := func(file, before, name, impl string) error {
		args := []string{"run", benchstatCommand, "-table", "goos,goarch,cpu,go,opa", "-row", "/case", "-filter", filter,
			name + "=" + before + ".txt", "step=" + impl + ".txt"}
		out, err := measure.CommandWith(ctx, []string{"GOFLAGS=-mod=mod"}, dir, "go", args...)
		if err != nil {
			return err
		}
		return outfile.Write(filepath.Join(dir, file), out)
	}
	before := unmodified
	for _, s := range p.steps {
		p.progress.Printf("benchstat: %s", p.name(s.Number))
		impl := stepImpl(s)
		if err := compare(impl+".benchstat", before, "before", impl); err != nil {
			return err
		}
		if err := compare(impl+".all.benchstat", unmodified, "opa", impl); err != nil {
			return err
		}
		before = impl
	}
	return nil
}
