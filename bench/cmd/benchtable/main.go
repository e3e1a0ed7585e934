// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command benchtable runs the benchmarks of Regometer and of OPA by turns, and
// writes docs/performance.md and the table in README.md from what benchstat
// says about them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/regometer/regometer/bench/internal/measure"
)

func main() {
	measure.Main("benchtable", func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

// options are the values of the flags.
type options struct {
	runs, requests int
	quick, page    bool
	gos            []string
	only           *regexp.Regexp // nil for all
}

func parseFlags(args []string) (o options, err error) {
	f := flag.NewFlagSet("benchtable", flag.ContinueOnError)
	f.IntVar(&o.runs, "runs", 10, "number of runs")
	f.IntVar(&o.requests, "requests", 10_000, "requests to each server in a run")
	f.BoolVar(&o.quick, "quick", false, "run each benchmark once, to see that it works; write nothing")
	f.BoolVar(&o.page, "page", false, "measure nothing; write the pages from the figures in docs/performance")
	gos := f.String("go", "go1.27.4,go1.26.11", "two `releases` of Go: that of all figures, and one that also runs OPA's own benchmarks")
	f.Func("bench", "`regular expression`: measure only these benchmarks; print what benchstat says, and write nothing", func(text string) (err error) {
		o.only, err = regexp.Compile(text)
		return err
	})
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.gos = strings.Split(*gos, ","); len(o.gos) != 2 {
		return o, errors.New("-go takes two releases")
	}
	if o.quick {
		o.runs, o.requests, o.gos = 1, 50, []string{"local"} // whose builds the cache has
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q (see -help)", f.Arg(0))
	}
	return o, nil
}

func run(ctx context.Context, args []string) (err error) {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "benchtable-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	root, err := measure.Root(ctx)
	if err != nil {
		return err
	}
	if o.page {
		return writePages(ctx, root)
	}
	m := measurer{options: o, root: root, work: work, results: filepath.Join(root, resultsFolder), start: time.Now(), lines: map[string][]byte{}}
	if o.quick || o.only != nil {
		m.results = work
	}
	if err := errors.Join(os.MkdirAll(m.results, 0o777), m.measure(ctx)); err != nil {
		return err
	}
	switch {
	case o.quick: // a single iteration says nothing about time
		return nil
	case o.only != nil:
		return printComparisons(ctx, root, work)
	default:
		return writePages(ctx, root)
	}
}

const opaModule = "github.com/open-policy-agent/opa"

// command runs a program. Builds ignore GOFLAGS.
func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	return measure.Run(ctx, os.Stderr, dir, []string{"GOFLAGS="}, name, args...)
}

// A measurer runs the benchmarks.
type measurer struct {
	options
	root, work, results string // folders
	start               time.Time
	lines               map[string][]byte // the figures, by the name of their file in results
}

// A binary is a test binary. The figures of its benchmarks go to a file.
type binary struct {
	path, benchmarks, file string
	env                    []string
}

func (m *measurer) measure(ctx context.Context) error {
	contests, err := m.build(ctx)
	if err != nil {
		return err
	}
	for i := range m.runs {
		m.progress("run %d of %d", i+1, m.runs)
		for _, binaries := range contests {
			if err := m.turn(ctx, i, binaries); err != nil {
				return err
			}
		}
		for name, text := range m.lines { // an interrupt leaves the runs that are complete
			if err := os.WriteFile(filepath.Join(m.results, name), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn runs each benchmark of the binaries once. Each turn begins with another
// binary.
func (m *measurer) turn(ctx context.Context, number int, binaries []binary) error {
	listed, err := command(ctx, m.root, binaries[0].path, "-test.list", binaries[0].benchmarks)
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(listed) {
		if m.only != nil && !m.only.MatchString(name) {
			continue
		}
		time := "100ms"
		switch {
		case strings.HasPrefix(name, "BenchmarkServer"):
			time = fmt.Sprintf("%dx", m.requests)
		case m.quick, name == "BenchmarkReport":
			time = "1x"
		}
		for j := range binaries {
			b := binaries[(number+j)%len(binaries)]
			args := []string{"-test.run=^$", "-test.bench=^" + name + "$", "-test.benchtime=" + time, "-test.benchmem", fmt.Sprintf("-test.short=%t", m.quick)}
			text, err := measure.Run(ctx, os.Stderr, filepath.Join(m.root, "bench"), b.env, b.path, args...)
			if err != nil {
				return err
			}
			m.lines[b.file] = append(m.lines[b.file], text...)
		}
	}
	return nil
}

func (m *measurer) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6s  %s\n", time.Since(m.start).Round(time.Second), fmt.Sprintf(format, args...))
}

// build builds everything that is measured. Binaries of the same contest take
// turns.
func (m *measurer) build(ctx context.Context) (contests [][]binary, err error) {
	m.progress("building OPA as it is and with Regometer; the first time this takes some minutes")
	in := func(name string) string { return filepath.Join(m.work, name) }
	build := func(program string, args ...string) {
		if err == nil {
			_, err = measure.Run(ctx, os.Stderr, m.root, []string{"GOFLAGS=", "GOTOOLCHAIN=" + m.gos[0]}, program, args...)
		}
	}
	regometer := in("regometer")
	build("go", "build", "-o", regometer, "./cmd/regometer")
	build(regometer, "build", "--unmodified", "-o", in("opa-unmodified"))
	build(regometer, "build", "-o", in("opa-regometer"))
	build(regometer, "build", "--pure", "--write-source", in("source"))
	version, versionErr := command(ctx, m.root, "go", "list", "-m", "-f", "{{.Version}}", opaModule)
	modules, modulesErr := command(ctx, m.root, "go", "list", "-m", "-f", "{{.Dir}}")
	if err = errors.Join(err, versionErr, modulesErr); err != nil {
		return nil, err
	}
	if _, err := measure.Run(ctx, os.Stderr, m.work, []string{"GOWORK=", "GOTOOLCHAIN=" + m.gos[len(m.gos)-1]}, "go", append([]string{"work", "init", in("source")}, strings.Fields(modules)...)...); err != nil {
		return nil, err
	}
	test := func(toolchain, side, folder, benchmarks, file string, env ...string) binary {
		b := binary{in(strings.Join([]string{filepath.Base(folder), side, toolchain}, "-") + ".test"), benchmarks, file, env}
		args, workspace := []string{"test", "-c", "-o", b.path}, ""
		if side == "regometer" {
			args, workspace = append(args, "-tags=dropin"), "GOWORK="+in("go.work")
		}
		if err == nil {
			_, err = measure.Run(ctx, os.Stderr, m.root, []string{"GOFLAGS=", "GOTOOLCHAIN=" + toolchain, workspace}, "go", append(args, folder)...)
		}
		m.lines[file] = fmt.Appendf(nil, "date: %s\ntoolchain: %s\nopa: %scpus: %d\n", m.start.UTC().Format(time.DateOnly), toolchain, version, runtime.NumCPU())
		return b
	}
	const all = "^Benchmark"
	for i, toolchain := range m.gos {
		older := []string{"", "-older-go"}[i]
		contests = append(contests, []binary{
			test(toolchain, "opa", opaModule+"/v1/metrics", all, "opa"+older+".txt"),
			test(toolchain, "regometer", opaModule+"/v1/metrics", all, "regometer"+older+".txt"),
		})
	}
	newest := m.gos[0]
	return append(contests,
		[]binary{
			test(newest, "opa", "./bench", all, "opa.txt", "REGOMETER_BENCH_OPA="+in("opa-unmodified")),
			test(newest, "regometer", "./bench", all, "regometer.txt", "REGOMETER_BENCH_OPA="+in("opa-regometer")),
		},
		[]binary{test(newest, "", "./bench/peers", all, "peers.txt", "REGOMETER_BENCH_COMMAND="+regometer)},
		[]binary{test(newest, "", "./prom", "^BenchmarkScrape$", "peers.txt")},
		[]binary{test(newest, "", "./cmd/regometer/internal/collect", all, "peers.txt")},
	), err
}
