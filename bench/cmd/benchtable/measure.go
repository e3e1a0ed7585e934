// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/regometer/regometer/bench"
	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/app/opabuild"
)

// A measurer runs the parts.
type measurer struct {
	options
	measure.Repository
	work     string // a folder that is removed in the end
	progress measure.Progress
	sides    []string // binaries of the package bench, with OPA as it is and with the drop-in
}

// measure returns a part's figures, in the format of go test -bench.
func (m *measurer) measure(ctx context.Context, part string) (lines []byte, err error) {
	how := "-benchtime " + m.benchtime
	switch part {
	case "metrics":
		lines, err = m.metrics(ctx)
	case "embedded":
		lines, err = m.byTurns(ctx, part, "^BenchmarkDecision$")
	case "server":
		how = fmt.Sprintf("-requests %d", m.requests)
		lines, err = m.server(ctx)
	case "stages":
		lines, err = m.stages(ctx)
	case "report":
		how = fmt.Sprintf("-size %d", m.size)
		lines, err = m.decisionLogs(ctx)
	}
	if err != nil {
		return nil, err
	}
	header := fmt.Appendf(nil, "date: %s\ngoos: %s\ngoarch: %s\ncpu: %s\ncpus: %d\ngo: %s\nopa: %s\ncommand: go run ./cmd/benchtable -parts %s -runs %d %s\n",
		time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, cpuName(), runtime.NumCPU(), runtime.Version(), m.OPAVersion, part, m.runs, how)
	return append(header, lines...), nil
}

// cpuName returns the processor's name where the system has it in a file.
func cpuName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	if m := regexp.MustCompile(`(?m)^model name\s*:\s*(.*)$`).FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return "unknown"
}

// buildSides builds the package bench twice, unless it is built. It fails if
// the sides' cases return different results.
func (m *measurer) buildSides(ctx context.Context) error {
	if m.sides != nil {
		return nil
	}
	m.progress.Printf("building with OPA %s as it is and with the drop-in", m.OPAVersion)
	tree := filepath.Join(m.work, "opa")
	if err := os.CopyFS(tree, os.DirFS(m.OPA)); err != nil {
		return err
	}
	if _, err := opabuild.Patch(ctx, tree, false, nil); err != nil {
		return err
	}
	modfile, err := m.Modfile(ctx, m.work, tree)
	if err != nil {
		return err
	}
	var sides, answers []string
	for i, flags := range [][]string{nil, {"-tags=dropin", "-modfile=" + modfile}} {
		binary, results := filepath.Join(m.work, fmt.Sprint(i, ".test")), filepath.Join(m.work, fmt.Sprint(i, ".txt"))
		args := append([]string{"test", "-c", "-trimpath", "-o", binary}, flags...)
		if _, err := measure.Command(ctx, m.Bench, "go", append(args, ".")...); err != nil {
			return err
		}
		if _, err := measure.Command(ctx, m.Bench, binary, "-results="+results); err != nil {
			return err
		}
		text, err := os.ReadFile(results)
		if err != nil {
			return err
		}
		sides, answers = append(sides, binary), append(answers, string(text))
	}
	if err := disagreement(answers[0], answers[1]); err != nil {
		return fmt.Errorf("the cases return different results with the drop-in: %w", err)
	}
	m.sides = sides
	return nil
}

// disagreement returns an error unless two texts are equal.
func disagreement(a, b string) error {
	if a == b {
		return nil
	}
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := strings.LastIndexByte(a[:i], '\n') + 1
	return fmt.Errorf("line %d differs: %.300s\nand: %.300s", 1+strings.Count(a[:i], "\n"), a[from:], b[from:])
}

// metrics measures case by case, since machines drift.
func (m *measurer) metrics(ctx context.Context) ([]byte, error) {
	only, err := regexp.Compile("^(" + m.cases + ")$")
	if err != nil {
		return nil, fmt.Errorf("-case: %w", err)
	}
	var benchmarks []string
	for _, c := range bench.Cases {
		if m.cases == "" || only.MatchString(c.Name) {
			benchmarks = append(benchmarks, "^BenchmarkMetrics$/^case="+c.Name+"$")
		}
	}
	return m.byTurns(ctx, "metrics", benchmarks...)
}

// byTurns runs each benchmark on both sides, several times. In every other run
// the sides swap places.
func (m *measurer) byTurns(ctx context.Context, part string, benchmarks ...string) (lines []byte, err error) {
	if err := m.buildSides(ctx); err != nil {
		return nil, err
	}
	for i := range m.runs {
		m.progress.Printf("%s: run %d of %d", part, i+1, m.runs)
		for _, benchmark := range benchmarks {
			for j := range m.sides {
				out, err := measure.Command(ctx, m.Bench, m.sides[(i+j)%2], "-test.run=^$", "-test.bench="+benchmark, "-test.benchtime="+m.benchtime)
				if err != nil {
					return nil, err
				}
				lines = append(lines, out...)
			}
		}
	}
	return lines, nil
}

// stages runs the benchmarks of the way from a decision to a scrape, by turns.
func (m *measurer) stages(ctx context.Context) (lines []byte, err error) {
	m.progress.Printf("stages: building the benchmarks")
	var binaries []string
	for _, pkg := range []string{measure.RootModule + "/bench/stages", measure.RootModule + "/prom"} {
		binary := filepath.Join(m.work, filepath.Base(pkg)+".test")
		if _, err := measure.Command(ctx, m.Bench, "go", "test", "-c", "-trimpath", "-o", binary, pkg); err != nil {
			return nil, err
		}
		binaries = append(binaries, binary)
	}
	for i := range m.runs {
		m.progress.Printf("stages: run %d of %d", i+1, m.runs)
		for _, binary := range binaries {
			out, err := measure.Command(ctx, m.Bench, binary, "-test.run=^$", "-test.bench=.", "-test.benchtime="+m.benchtime)
			if err != nil {
				return nil, err
			}
			lines = append(lines, out...)
		}
	}
	return lines, nil
}

// buildPrograms builds the programs of the part report and returns their
// folder. The workspace gives all of them the same libraries.
func (m *measurer) buildPrograms(ctx context.Context) (string, error) {
	m.progress.Printf("report: building the programs")
	bin := filepath.Join(m.work, "bin")
	workspace := []string{"GOWORK=" + filepath.Join(m.Root, "go.work")}
	for _, args := range [][]string{
		{"-o", bin + string(filepath.Separator), "./cmd/regometer", "./bench/cmd/plainreport", "./bench/cmd/decompress"},
		{"-tags", "purego", "-o", filepath.Join(bin, "purego") + string(filepath.Separator), "./cmd/regometer"},
	} {
		if _, err := measure.CommandWith(ctx, workspace, m.Root, "go", append([]string{"build", "-trimpath"}, args...)...); err != nil {
			return "", err
		}
	}
	return bin, nil
}

// decisionLogs measures the part report in a process of its own: see execute.
func (m *measurer) decisionLogs(ctx context.Context) ([]byte, error) {
	bin, err := m.buildPrograms(ctx)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-bin", bin, "-out", m.work, "-runs", strconv.Itoa(m.runs), "-size", strconv.Itoa(m.size))
	var lines bytes.Buffer
	cmd.Stdout, cmd.Stderr = &lines, m.progress.W
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends what it has started
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("measuring: %w", err)
	}
	return lines.Bytes(), nil
}
