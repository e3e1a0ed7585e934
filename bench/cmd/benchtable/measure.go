// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	"github.com/regometer/regometer/bench"
	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/app/opabuild"
)

// A measurer runs the parts.
type measurer struct {
	options
	measure.Repository
	work     string // a folder that is removed at the end
	progress measure.Progress
	sides    []string // binaries of the package bench, with OPA as it is and with the drop-in
}

// measure returns a part's figures, in the format of go test -bench.
func (m *measurer) measure(ctx context.Context, p part) (lines []byte, err error) {
	lines, err = p.lines(m, ctx)
	header := fmt.Appendf(nil, "date: %s\ngoos: %s\ngoarch: %s\ncpu: %s\ncpus: %d\ngo: %s\nopa: %s\ncommand: go run ./cmd/benchtable -parts %s -runs %d -benchtime %s -requests %d -size %d\n",
		time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, cpuName(), runtime.NumCPU(), runtime.Version(), m.OPAVersion,
		p.name, m.runs, m.benchtime, m.requests, m.size)
	return append(header, lines...), err
}

// cpuName returns the processor's name where the system has it in a file.
func cpuName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	if m := regexp.MustCompile(`(?m)^model name\s*:\s*(.*)$`).FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return "unknown"
}

// buildSides builds the package bench twice, unless it did so before. It fails
// if a case returns different results on the two sides.
func (m *measurer) buildSides(ctx context.Context) error {
	if m.sides != nil {
		return nil
	}
	m.progress.Printf("building with OPA %s as it is and with the drop-in", m.OPAVersion)
	tree := filepath.Join(m.work, "opa")
	if err := opabuild.WriteSource(ctx, opabuild.Options{OPA: m.OPA, Pure: true}, tree); err != nil {
		return err
	}
	modfile, err := m.Modfile(ctx, m.work, tree)
	if err != nil {
		return err
	}
	var sides []string
	for i, flags := range [][]string{nil, {"-tags=dropin", "-modfile=" + modfile}} {
		binary, err := m.buildTest(ctx, fmt.Sprint("side", i), append(flags, ".")...)
		if err != nil {
			return err
		}
		if _, err := measure.Command(ctx, m.Bench, binary, "-results="+binary+".txt"); err != nil {
			return err
		}
		sides = append(sides, binary)
	}
	if _, err := measure.Command(ctx, m.work, "diff", sides[0]+".txt", sides[1]+".txt"); err != nil {
		return fmt.Errorf("the cases return different results with the drop-in: %w", err)
	}
	m.sides = sides
	return nil
}

// buildTest builds the test binary of a package.
func (m *measurer) buildTest(ctx context.Context, name string, args ...string) (binary string, err error) {
	binary = filepath.Join(m.work, name+".test")
	_, err = measure.Command(ctx, m.Bench, "go", append([]string{"test", "-c", "-trimpath", "-o", binary}, args...)...)
	return binary, err
}

// selects reports whether to measure a case.
func (m *measurer) selects(name string) bool { return m.only == nil || m.only.MatchString(name) }

// cases measures one case after another, because machines drift.
func (m *measurer) cases(ctx context.Context) ([]byte, error) {
	var benchmarks []string
	for _, c := range bench.Cases {
		if m.selects(c.Name) {
			benchmarks = append(benchmarks, "^BenchmarkMetrics$/^case="+c.Name+"$")
		}
	}
	return m.bothSides(ctx, "metrics", benchmarks...)
}

// embedded measures a decision in a program that uses OPA as a library.
func (m *measurer) embedded(ctx context.Context) ([]byte, error) {
	return m.bothSides(ctx, "embedded", "^BenchmarkDecision$")
}

func (m *measurer) bothSides(ctx context.Context, part string, benchmarks ...string) ([]byte, error) {
	if err := m.buildSides(ctx); err != nil {
		return nil, err
	}
	return m.byTurns(ctx, part, m.sides, benchmarks...)
}

// stages measures the way from a decision to a scrape.
func (m *measurer) stages(ctx context.Context) ([]byte, error) {
	m.progress.Printf("stages: building the benchmarks")
	var binaries []string
	for _, folder := range []string{"/bench/stages", "/prom"} {
		binary, err := m.buildTest(ctx, filepath.Base(folder), measure.RootModule+folder)
		if err != nil {
			return nil, err
		}
		binaries = append(binaries, binary)
	}
	return m.byTurns(ctx, "stages", binaries, ".")
}

// byTurns runs each benchmark of each binary several times. Each run begins
// with another binary.
func (m *measurer) byTurns(ctx context.Context, part string, binaries []string, benchmarks ...string) (lines []byte, err error) {
	for i := range m.runs {
		m.progress.Printf("%s: run %d of %d", part, i+1, m.runs)
		for _, benchmark := range benchmarks {
			for j := range binaries {
				out, err := measure.Command(ctx, m.Bench, binaries[(i+j)%len(binaries)], "-test.run=^$", "-test.bench="+benchmark, "-test.benchtime="+m.benchtime)
				if err != nil {
					return nil, err
				}
				lines = append(lines, out...)
			}
		}
	}
	return lines, nil
}
