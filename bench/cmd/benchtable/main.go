// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command benchtable measures Regometer beside Open Policy Agent's own metrics
// package and writes docs/performance.md.
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
)

const usage = `Usage: benchtable [flags]

Measures Regometer beside OPA's own metrics package, prints the tables and
writes them to docs/performance.md, with plots. The raw figures are kept in
docs/performance, in the format of go test -bench, which benchstat reads too.

Parts:
  metrics   the packages side by side: the same cases, in two binaries
  embedded  a decision in a program that uses OPA as a library; the same binaries
  server    OPA servers under load, as they are and with the drop-in, the plugin
            and the decision log; builds OPA twice, which takes a few minutes
            the first time
  stages    from a decision to a scrape: the histogram beside its peers, the
            rollup, the plugin, the collector
  report    regometer report beside DuckDB, jq and encoding/json, on decision logs
            in the folder for temporary files, up to 5 GB at a time; measured
            only if it is named

Everything runs several times in turns, because a machine's speed drifts. Only
figures of the same run are compared.

Examples:
  benchtable                            measure everything (about 25 minutes)
  benchtable -parts metrics -runs 20
  benchtable -parts metrics -case 'request|update_full'
  benchtable -parts report -size 200    smaller logs, to try it
  benchtable -quick                     run everything once, write nothing
  benchtable -parts none                write the page from the kept figures

DuckDB is the program that REGOMETER_DUCKDB names, else duckdb in PATH. jq is
that in PATH. Without them their figures are left out.

Flags:
`

// options are what the flags say.
type options struct {
	parts     []string
	runs      int
	benchtime string
	cases     string
	requests  int
	size      int // MB
	out       string
	quick     bool
	bin       string
}

var (
	allParts     = []string{"metrics", "embedded", "server", "stages", "report"}
	defaultParts = allParts[:4]
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if ctx.Err() != nil {
		err = errors.New("interrupted: nothing was written")
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		os.Exit(1)
	}
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("benchtable", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, usage)
		f.PrintDefaults()
	}
	parts := f.String("parts", strings.Join(defaultParts, ","), "what to measure, or none")
	f.IntVar(&o.runs, "runs", 10, "how often everything is measured; below 8 no ratio has a confidence interval")
	f.StringVar(&o.benchtime, "benchtime", "100ms", "time or iterations (100x) for each benchmark of a run")
	f.StringVar(&o.cases, "case", "", "regular expression: only these cases of the part metrics, printed but not written")
	f.IntVar(&o.requests, "requests", 10_000, "requests to each server in each run and mode")
	f.IntVar(&o.size, "size", 2000, "size of a decision log of the part report, in MB before compression: at most 2500, so that its exact quantiles are known")
	f.StringVar(&o.out, "out", "", "folder to write to (default: docs in the repository)")
	f.BoolVar(&o.quick, "quick", false, "run every benchmark once, to see that it works; write nothing")
	f.StringVar(&o.bin, "bin", "", "folder of the part report's programs: print the figures of this part; benchtable starts itself so")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if *parts != "none" {
		o.parts = strings.Split(*parts, ",")
	}
	for _, part := range o.parts {
		if !slices.Contains(allParts, part) {
			return o, fmt.Errorf("-parts: unknown part %q, want one of %s", part, strings.Join(allParts, ", "))
		}
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q (see -help)", f.Arg(0))
	case o.runs < 1 || o.requests < 1:
		return o, errors.New("-runs and -requests must be at least 1")
	case o.size < 1 || o.size > 2500:
		return o, errors.New("-size must be from 1 to 2500")
	case o.cases != "" && !slices.Equal(o.parts, []string{"metrics"}):
		return o, errors.New("-case needs -parts metrics")
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
	progress := measure.Progress{W: stderr, Start: time.Now()}
	if o.bin != "" {
		return (&logBench{options: o, work: o.out, out: stdout, progress: progress}).run(ctx)
	}
	repo, err := measure.FindRepository(ctx)
	if err != nil {
		return err
	}
	if o.out == "" {
		o.out = filepath.Join(repo.Root, "docs")
	}
	work, err := os.MkdirTemp("", "benchtable-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	m := measurer{options: o, Repository: repo, work: work, progress: progress}
	raw, r := map[string][]byte{}, report{}
	if !o.quick && o.cases == "" { // the kept figures first: it takes long until they are needed
		if raw, r, err = readKept(o.out, o.parts); err != nil {
			return err
		}
	}
	for _, part := range allParts {
		if !slices.Contains(o.parts, part) {
			continue
		}
		if raw[part], err = m.measure(ctx, part); err == nil {
			r[part], err = parse(part, raw[part])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	if o.quick { // a single iteration says nothing about time
		for _, part := range o.parts {
			fmt.Fprintf(stdout, "%s: %d benchmarks ran\n", part, len(r[part].samples))
		}
		return nil
	}
	if _, err := io.WriteString(stdout, r.text()); err != nil || o.cases != "" {
		return err
	}
	return r.save(o.out, raw)
}

// readKept reads the kept figures of all parts except some.
func readKept(out string, except []string) (map[string][]byte, report, error) {
	raw, r := map[string][]byte{}, report{}
	for _, part := range allParts {
		if slices.Contains(except, part) {
			continue
		}
		name := filepath.Join(out, "performance", part+".txt")
		kept, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		raw[part] = kept
		if err == nil {
			r[part], err = parse(part, kept)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return raw, r, nil
}
