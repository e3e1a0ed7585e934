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
docs/performance, in the format of go test -bench, so that benchstat reads
them too.

Parts:
  metrics   the packages side by side, in one test binary
  embedded  a decision in a program that uses OPA as a library; two binaries
  server    OPA servers under load, as they are and with the drop-in, the plugin
            and the decision log; builds OPA twice, which takes a few minutes
            the first time
  stages    from a decision to a scrape: the histogram beside its peers, the
            rollup, the plugin, the collector
  report    regometer report beside DuckDB, jq and encoding/json, on decision logs
            that it writes to the folder for temporary files, up to 5 GB at a
            time; it is measured only if it is named

Everything runs several times in turns, since a machine's speed drifts: only
what was measured within one run is compared.

Examples:
  benchtable                            measure everything (about 25 minutes)
  benchtable -parts metrics -runs 20
  benchtable -parts metrics -case 'request|update_full'
  benchtable -parts report -size 200    smaller logs, to try it
  benchtable -quick                     run everything once, write nothing
  benchtable -parts none                write the page from the kept figures

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
}

var (
	allParts     = []string{"metrics", "embedded", "server", "stages", "report"}
	defaultParts = allParts[:4]
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (options, error) {
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
	f.IntVar(&o.size, "size", 2000, "how large a decision log of the part report is, in MB")
	f.StringVar(&o.out, "out", "", "folder to write to (default: docs in the repository)")
	f.BoolVar(&o.quick, "quick", false, "run every benchmark once, to see that it works; write nothing")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q (see -help)", f.Arg(0))
	}
	if *parts != "none" {
		o.parts = strings.Split(*parts, ",")
	}
	for _, part := range o.parts {
		if !slices.Contains(allParts, part) {
			return o, fmt.Errorf("-parts: no part %q, there are %s", part, strings.Join(allParts, ", "))
		}
	}
	if o.runs < 1 || o.requests < 1 {
		return o, errors.New("-runs and -requests must be at least 1")
	}
	if o.cases != "" && !slices.Equal(o.parts, []string{"metrics"}) {
		return o, errors.New("-case needs -parts metrics")
	}
	if o.quick {
		o.runs, o.benchtime, o.requests, o.size = 1, "1x", 50, 2
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
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
	work, err := os.MkdirTemp("", "benchtable-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	m := measurer{options: o, Repository: repo, work: work, progress: measure.Progress{W: stderr, Start: time.Now()}}
	raw := make(map[string][]byte)
	r := report{parts: map[string]measure.Results{}}
	if !o.quick && o.cases == "" { // the kept figures first: it takes long until they are needed
		for _, part := range allParts {
			if slices.Contains(o.parts, part) {
				continue
			}
			kept, err := os.ReadFile(rawFile(o.out, part))
			if errors.Is(err, os.ErrNotExist) {
				continue
			} else if err != nil {
				return err
			}
			raw[part] = kept
			if r.parts[part], err = parseResults(part, kept); err != nil {
				return fmt.Errorf("%s: %w", rawFile(o.out, part), err)
			}
		}
	}
	for _, part := range allParts {
		if !slices.Contains(o.parts, part) {
			continue
		}
		if raw[part], err = m.measure(ctx, part); err != nil {
			if ctx.Err() != nil {
				return errors.New("interrupted: nothing was written")
			}
			return fmt.Errorf("%s: %w", part, err)
		}
		if r.parts[part], err = parseResults(part, raw[part]); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	if o.quick { // a single iteration says nothing about time
		for _, part := range o.parts {
			fmt.Fprintf(stdout, "%s: %d benchmarks ran\n", part, len(r.parts[part].Samples))
		}
		return nil
	}
	if err := r.writeTables(stdout); err != nil || o.cases != "" {
		return err
	}
	return r.save(o.out, raw)
}

// rawFile is where a part's figures are kept.
func rawFile(out, part string) string {
	return filepath.Join(out, "performance", part+".txt")
}
