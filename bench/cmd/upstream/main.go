// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command upstream proves the series for OPA: it puts one step after another
// into OPA's source, tests and measures each, and writes the patches and
// docs/upstream.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/opa/opabuild"
)

const usage = `Usage: upstream [flags]

Puts the steps of the series for OPA (opa/opabuild/_upstream), one after the
other, into the source of OPA ` + opabuild.UpstreamVersion + `.

Parts:
  patches     writes what git am takes into dist/upstream, and tries it out
  tests       for each step: go vet, OPA's own tests of the packages that use
              metrics most beside those of the unmodified OPA, OPA's linter,
              and our conformance suite, differential tests and tests of the
              sample
  benchmarks  the unmodified OPA, each step and the drop-in, in turns
  server      OPA servers under load, and opa eval: unmodified, with the series
              and with the drop-in; builds OPA three times, which takes a few
              minutes the first time

The figures are kept in docs/upstream, in the format of go test -bench, and
docs/upstream.md is written from them and from the steps' texts. The exit status
is 1 if a step fails anything; what is said then names both.

Examples:
  upstream                             everything
  upstream -quick                      patches and the most important tests, two minutes
  upstream -parts tests -packages v1/metrics,v1/topdown -fuzztime 10s
  upstream -parts benchmarks -runs 20
  upstream -report                     write the page from the kept figures

Flags:
`

// options are what the flags say.
type options struct {
	parts     []string
	packages  []string
	run       string
	fuzztime  time.Duration
	runs      int
	benchtime string
	requests  int
	quick     bool
	render    bool
	out, dist string
}

var allParts = []string{"patches", "tests", "benchmarks", "server"}

// testedPackages are those of OPA's that use metrics most.
var testedPackages = []string{
	"v1/metrics", "v1/topdown", "v1/rego", "v1/server", "v1/sdk", "v1/plugins/logs", "v1/plugins/status", "v1/profiler", "v1/runtime", "cmd",
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("upstream", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, usage)
		f.PrintDefaults()
	}
	parts := f.String("parts", strings.Join(allParts, ","), "what to do")
	packages := f.String("packages", strings.Join(testedPackages, ","), "folders of OPA's tree whose tests run")
	f.StringVar(&o.run, "run", "", "only those of OPA's tests that match, as go test -run does; without the linter")
	f.DurationVar(&o.fuzztime, "fuzztime", 0, "fuzz our package beside each step's for so long")
	f.IntVar(&o.runs, "runs", 10, "how often everything is measured; below 8 no ratio has a confidence interval")
	f.StringVar(&o.benchtime, "benchtime", "100ms", "time or iterations (100x) for each benchmark of a run")
	f.IntVar(&o.requests, "requests", 10_000, "requests to each server in each run and mode")
	f.BoolVar(&o.quick, "quick", false, "patches, go vet, the tests of v1/metrics and, with the last step, ours; no linter, no figures")
	f.BoolVar(&o.render, "report", false, "write the page from the kept figures, and do nothing else")
	f.StringVar(&o.out, "out", "", "folder to write to (default: docs in the repository)")
	f.StringVar(&o.dist, "dist", "", "folder for the patches (default: dist/upstream in the repository)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q (see -help)", f.Arg(0))
	}
	if o.runs < 1 || o.requests < 1 {
		return o, errors.New("-runs and -requests must be at least 1")
	}
	o.parts, o.packages = strings.Split(*parts, ","), strings.Split(*packages, ",")
	for _, part := range o.parts {
		if !slices.Contains(allParts, part) {
			return o, fmt.Errorf("-parts: no part %q, there are %s", part, strings.Join(allParts, ", "))
		}
	}
	switch {
	case o.render && o.quick:
		return o, errors.New("-quick keeps no figures that -report could show")
	case o.render:
		o.parts = nil
	case o.quick:
		o.parts, o.packages = []string{"patches", "tests"}, []string{"v1/metrics"}
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	steps, err := opabuild.Series()
	if err != nil {
		return err
	}
	repo, err := measure.FindRepository(ctx)
	if err != nil {
		return err
	}
	if o.out == "" {
		o.out = filepath.Join(repo.Root, "docs")
	}
	if o.dist == "" {
		o.dist = filepath.Join(repo.Root, "dist", "upstream")
	}
	p := prover{options: o, Repository: repo, steps: steps, progress: measure.Progress{W: stderr, Start: time.Now()}}
	if p.work, err = os.MkdirTemp("", "upstream-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.work)) }()
	for _, part := range allParts {
		if !slices.Contains(o.parts, part) {
			continue
		}
		if err := p.do(ctx, part); err != nil {
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	if !o.quick {
		if err := p.report(stdout); err != nil {
			return err
		}
	}
	if len(p.failures) > 0 {
		return fmt.Errorf("the series fails:\n%s", strings.Join(p.failures, "\n"))
	}
	if !o.render {
		fmt.Fprintf(stdout, "ok: %d steps: %s\n", len(steps), strings.Join(o.parts, ", "))
	}
	return nil
}

// A prover does the parts.
type prover struct {
	options
	measure.Repository
	steps    []opabuild.Step
	work     string // a folder that is removed in the end
	progress measure.Progress
	failures []string // of steps
}

func (p *prover) do(ctx context.Context, part string) error {
	switch part {
	case "patches":
		return p.patches(ctx)
	case "tests":
		return p.tests(ctx)
	case "benchmarks":
		return p.benchmarks(ctx)
	default:
		return p.server(ctx)
	}
}

// report writes the page, and prints what each step gains.
func (p *prover) report(stdout io.Writer) error {
	r, err := loadReport(filepath.Join(p.out, "upstream"), p.steps)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\nTime and bytes by those of the step before:\n\n%s\n", r.order(), r.gains())
	return r.save(p.out)
}

// name says in messages which OPA it is: with the first n steps, 0 for none.
func (p *prover) name(n int) string {
	if n == 0 {
		return "the unmodified OPA"
	}
	return fmt.Sprintf("step %d (%s)", n, p.steps[n-1].Name)
}

// failed notes that a step failed, and goes on: others may fail too.
func (p *prover) failed(n int, what string, err error) {
	text := fmt.Sprintf("%s: %s: %v", p.name(n), what, err)
	p.progress.Printf("FAILED %s", text)
	p.failures = append(p.failures, text)
}
