// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command benchtable measures Regometer beside Open Policy Agent's own metrics
// package and writes docs/performance.md. It runs on Unix.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
)

const usage = `Usage: benchtable [flags]

Measures Regometer beside OPA's own metrics package, prints the tables and
writes them to docs/performance.md. It keeps the raw figures in docs/performance,
in the format of go test -bench, which benchstat also reads.

Parts:
  metrics   the packages side by side: the same cases in two binaries
  embedded  a decision in a program that uses OPA as a library; same binaries
  server    OPA servers under load, as they are and with the drop-in, the plugin
            and the decision log; builds OPA twice, which takes a few minutes
            the first time
  stages    from a decision to a scrape: the histogram beside its peers, the
            rollup, the plugin, the collector
  report    regometer report beside DuckDB, on decision logs in the folder for
            temporary files, up to 5 GB at a time; runs only if you name it
  collect   regometer collect beside an OpenTelemetry Collector, which the first
            run builds in some minutes, and servers that upload their decision
            log; runs only if you name it

DuckDB is the program that REGOMETER_DUCKDB names, or else duckdb on PATH. Without
it, the tables have no figures of DuckDB.

Flags:
`

// options are the values of the flags.
type options struct {
	parts     []string
	runs      int
	benchtime string
	only      *regexp.Regexp // of the cases, or nil
	requests  int
	size      int // MB
	quick     bool
}

func main() {
	measure.Main("benchtable", func(ctx context.Context) error { return run(ctx, os.Args[1:], os.Stdout, os.Stderr) })
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("benchtable", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, usage)
		f.PrintDefaults()
	}
	named := f.String("parts", "metrics,embedded,server,stages", "what to measure, or none")
	f.IntVar(&o.runs, "runs", 10, "number of runs; with fewer than 8 no ratio has a confidence interval")
	f.StringVar(&o.benchtime, "benchtime", "100ms", "time or iterations (100x) for each benchmark of a run")
	f.Func("case", "`regular expression`: only these cases of the part metrics or report, printed but not written", func(text string) (err error) {
		o.only, err = regexp.Compile("^(" + text + ")$")
		return err
	})
	f.IntVar(&o.requests, "requests", 10_000, "requests to each server in each run and mode")
	f.IntVar(&o.size, "size", 2000, "size of a decision log of the part report, in MB before compression; at most 2500, because regometer sample knows no exact quantiles of larger logs")
	f.BoolVar(&o.quick, "quick", false, "run every benchmark once, to see that it works; write nothing")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if *named != "none" {
		o.parts = strings.Split(*named, ",")
	}
	for _, name := range o.parts {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return o, fmt.Errorf("-parts: unknown part %q", name)
		}
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q (see -help)", f.Arg(0))
	case o.runs < 1 || o.requests < 1:
		return o, errors.New("-runs and -requests must be at least 1")
	case o.size < 1 || o.size > 2500:
		return o, errors.New("-size must be from 1 to 2500")
	case o.only != nil && !slices.Equal(o.parts, []string{"metrics"}) && !slices.Equal(o.parts, []string{"report"}):
		return o, errors.New("-case needs -parts metrics or -parts report")
	case o.quick:
		o.runs, o.benchtime, o.requests, o.size = 1, "1x", 50, 2
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	repo, err := measure.FindRepository(ctx)
	if err != nil {
		return err
	}
	docs := filepath.Join(repo.Root, "docs")
	work, err := os.MkdirTemp("", "benchtable-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	m := measurer{options: o, Repository: repo, work: work, progress: measure.Progress{W: stderr, Start: time.Now()}}
	r := report{}
	for _, p := range slices.Backward(parts) { // the part report comes first: see execute
		if !slices.Contains(o.parts, p.name) {
			continue
		}
		text, err := m.measure(ctx, p)
		if err == nil {
			r[p.name], err = parse(p.name, text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if o.quick { // a single iteration says nothing about time
		for _, name := range o.parts {
			fmt.Fprintf(stdout, "%s: %d benchmarks ran\n", name, len(r[name].samples))
		}
		return nil
	}
	if o.only != nil {
		_, err := io.WriteString(stdout, r.text())
		return err
	}
	if err := r.addKept(docs); err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, r.text()); err != nil {
		return err
	}
	return r.save(repo.Root)
}

// addKept adds the kept figures of the parts that were not measured.
func (r report) addKept(out string) error {
	for _, p := range parts {
		if _, measured := r[p.name]; measured {
			continue
		}
		text, err := os.ReadFile(filepath.Join(out, "performance", p.name+".txt"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			r[p.name], err = parse(p.name, text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}
