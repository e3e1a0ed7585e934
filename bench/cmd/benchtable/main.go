// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Command benchtable runs the benchmarks of Regometer and of OPA by turns, and
// writes docs/performance.md and the table in README.md from what benchstat
// says about them. It runs in the repository's root.
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

const opaModule = "github.com/open-policy-agent/opa"

func run(ctx context.Context, args []string) (err error) {
	f := flag.NewFlagSet("benchtable", flag.ContinueOnError)
	m := measurer{start: time.Now(), lines: map[string][]byte{}}
	f.IntVar(&m.runs, "runs", 10, "number of runs")
	f.BoolVar(&m.quick, "quick", false, "run each benchmark once, to see that it works; write nothing")
	page := f.Bool("page", false, "measure nothing; write the pages from the figures in docs/performance")
	releases := f.String("go", "go1.27.4,go1.26.11", "`releases` of Go: that of all figures, and one that also runs OPA's own benchmarks")
	only := f.String("bench", "", "`regular expression`: measure only these benchmarks; print what benchstat says, and write nothing")
	if err := f.Parse(args); err != nil {
		return err
	}
	m.releases = strings.Split(*releases, ",")
	if m.quick {
		m.runs, m.releases = 1, []string{"local"} // whose builds the cache has
	}
	m.only, err = regexp.Compile(*only)
	if err != nil || f.NArg() > 0 || len(m.releases) > 2 {
		return errors.Join(err, fmt.Errorf("invalid arguments %q (see -help)", args))
	}
	if m.root, err = filepath.Abs("."); err != nil {
		return err
	}
	if *page {
		return writePages(m.root)
	}
	if m.work, err = os.MkdirTemp("", "benchtable-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(m.work)) }()
	m.results = filepath.Join(m.root, resultsFolder)
	if m.quick || *only != "" {
		m.results = m.work
	}
	if err := m.measure(ctx); err != nil || m.quick { // a single iteration says nothing about time
		return err
	}
	if *only == "" {
		return writePages(m.root)
	}
	in := func(file string) string { return filepath.Join(m.work, file) }
	for _, compared := range [][]string{{"opa=" + in(opaFile), "regometer=" + in(oursFile)}, {"-col", "/impl", in(peersFile)}} {
		text, err := m.command(ctx, "go", append([]string{"tool", "-C", filepath.Join(m.root, "bench"), "benchstat"}, compared...)...)
		if err != nil {
			return err
		}
		fmt.Println(text)
	}
	return nil
}

// A measurer runs the benchmarks.
type measurer struct {
	runs                int
	quick               bool
	releases            []string       // of Go
	only                *regexp.Regexp // the benchmarks to run
	root, work, results string         // folders
	start               time.Time
	lines               map[string][]byte // the figures, by the name of their file in results
}

// command runs a program in the root. Builds ignore GOFLAGS.
func (m *measurer) command(ctx context.Context, name string, args ...string) (string, error) {
	return measure.Run(ctx, os.Stderr, m.root, []string{"GOFLAGS="}, name, args...)
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
	listed, err := m.command(ctx, binaries[0].path, "-test.list", binaries[0].benchmarks)
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(listed) {
		if !m.only.MatchString(name) {
			continue
		}
		time := "100ms"
		switch server := strings.HasPrefix(name, "BenchmarkServer"); {
		case server && m.quick:
			time = "50x"
		case server:
			time = "10000x"
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
	run := func(env []string, dir, program string, args ...string) (out string) {
		if err == nil {
			out, err = measure.Run(ctx, os.Stderr, dir, append([]string{"GOFLAGS="}, env...), program, args...)
		}
		return strings.TrimSpace(out)
	}
	newest := m.releases[0]
	build := func(program string, args ...string) {
		run([]string{"GOTOOLCHAIN=" + newest}, m.root, program, args...)
	}
	regometer := in("regometer")
	build("go", "build", "-o", regometer, "./cmd/regometer")
	build(regometer, "build", "--unmodified", "-o", in("opa-unmodified"))
	build(regometer, "build", "-o", in("opa-regometer"))
	build(regometer, "build", "--pure", "--write-source", in("source"))
	version := run(nil, m.root, "go", "list", "-m", "-f", "{{.Version}}", opaModule)
	modules := run(nil, m.root, "go", "list", "-m", "-f", "{{.Dir}}")
	run([]string{"GOWORK=", "GOTOOLCHAIN=" + m.releases[len(m.releases)-1]}, m.work, "go", append([]string{"work", "init", in("source")}, strings.Fields(modules)...)...)
	test := func(toolchain, side, folder, benchmarks, file string, env ...string) binary {
		b := binary{in(strings.Join([]string{filepath.Base(folder), side, toolchain}, "-") + ".test"), benchmarks, file, env}
		args, workspace := []string{"test", "-c", "-o", b.path}, ""
		if side == "regometer" {
			// Without its folder's name, OPA with the drop-in is in Go's cache the next time.
			args, workspace = append(args, "-tags=dropin", "-trimpath"), "GOWORK="+in("go.work")
		}
		run([]string{"GOTOOLCHAIN=" + toolchain, workspace}, m.root, "go", append(args, folder)...)
		m.lines[file] = fmt.Appendf(nil, "date: %s\ntoolchain: %s\nopa: %s\ncpus: %d\n", m.start.UTC().Format(time.DateOnly), toolchain, version, runtime.NumCPU())
		return b
	}
	const all = "^Benchmark"
	for i, toolchain := range m.releases {
		opa, ours := opaFile, oursFile
		if i > 0 {
			opa, ours = olderOPAFile, olderOursFile
		}
		contests = append(contests, []binary{
			test(toolchain, "opa", opaModule+"/v1/metrics", all, opa),
			test(toolchain, "regometer", opaModule+"/v1/metrics", all, ours),
		})
	}
	return append(contests,
		[]binary{
			test(newest, "opa", "./bench", all, opaFile, "REGOMETER_BENCH_OPA="+in("opa-unmodified")),
			test(newest, "regometer", "./bench", all, oursFile, "REGOMETER_BENCH_OPA="+in("opa-regometer")),
		},
		[]binary{test(newest, "", "./bench/peers", all, peersFile, "REGOMETER_BENCH_COMMAND="+regometer)},
		[]binary{test(newest, "", "./prom", "^BenchmarkScrape$", peersFile)},
		[]binary{test(newest, "", "./cmd/regometer/internal/collect", all, peersFile)},
	), err
}
