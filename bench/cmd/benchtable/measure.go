// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/regometer/regometer/bench/internal/measure"
	"github.com/regometer/regometer/internal/app/opabuild"
)

const benchModule = measure.RootModule + "/bench"

// A measurer runs the parts.
type measurer struct {
	options
	measure.Repository
	work     string // a folder that is removed in the end
	progress measure.Progress
}

func (m *measurer) measure(ctx context.Context, part string) ([]byte, error) {
	var lines []byte
	var err error
	switch part {
	case "metrics":
		lines, err = m.metrics(ctx)
	case "embedded":
		lines, err = m.embedded(ctx)
	case "server":
		lines, err = m.server(ctx)
	case "stages":
		lines, err = m.stages(ctx)
	case "report":
		lines, err = m.decisionLogs(ctx)
	}
	if err != nil {
		return nil, err
	}
	return append(m.header(part, lines), lines...), nil
}

// header describes the run.
func (m *measurer) header(part string, lines []byte) []byte {
	how := fmt.Sprintf("-runs %d -benchtime %s", m.runs, m.benchtime)
	switch part {
	case "server":
		how = fmt.Sprintf("-runs %d -requests %d", m.runs, m.requests)
	case "report":
		how = fmt.Sprintf("-runs %d -size %d", m.runs, m.size)
	}
	return measure.Header(m.OPAVersion, fmt.Sprintf("benchtable -parts %s %s", part, how), lines)
}

// metrics runs the binary of the benchmarks several times. In every other run
// the sides swap places.
func (m *measurer) metrics(ctx context.Context) ([]byte, error) {
	m.progress.Printf("metrics: building the benchmarks")
	binary := filepath.Join(m.work, "metrics.test")
	if _, err := measure.Command(ctx, m.Bench, "go", "test", "-c", "-trimpath", "-o", binary, "."); err != nil {
		return nil, err
	}
	bench := "."
	if m.cases != "" {
		bench = "Metrics/^case=(" + m.cases + ")$"
	}
	var lines []byte
	for i := range m.runs {
		m.progress.Printf("metrics: run %d of %d", i+1, m.runs)
		args := []string{"-test.run=^$", "-test.bench=" + bench, "-test.benchtime=" + m.benchtime, "-test.timeout=1h"}
		if i%2 == 1 {
			args = append(args, "-reverse")
		}
		out, err := measure.Command(ctx, m.Bench, binary, args...)
		if err != nil {
			return nil, err
		}
		lines = append(lines, out...)
	}
	return lines, nil
}

// embedded runs two binaries in turns: one with OPA as it is, one with a copy
// of the same OPA whose package v1/metrics is the drop-in.
func (m *measurer) embedded(ctx context.Context) ([]byte, error) {
	m.progress.Printf("embedded: building with OPA %s as it is and with the drop-in", m.OPAVersion)
	modfile, err := m.patchedModfile(ctx)
	if err != nil {
		return nil, err
	}
	binaries := []string{filepath.Join(m.work, "opa.test"), filepath.Join(m.work, "regometer.test")}
	for i, flags := range [][]string{{}, {"-tags=dropin", "-modfile=" + modfile}} {
		args := append([]string{"test", "-c", "-trimpath", "-o", binaries[i]}, flags...)
		if _, err := measure.Command(ctx, m.Bench, "go", append(args, "./embedded")...); err != nil {
			return nil, err
		}
		if _, err := measure.Command(ctx, m.Bench, binaries[i], "-test.run=."); err != nil {
			return nil, err
		}
	}
	var lines []byte
	for i := range m.runs {
		m.progress.Printf("embedded: run %d of %d", i+1, m.runs)
		for j := range binaries {
			binary := binaries[(i+j)%2]
			out, err := measure.Command(ctx, m.Bench, binary, "-test.run=^$", "-test.bench=.", "-test.benchtime="+m.benchtime)
			if err != nil {
				return nil, err
			}
			lines = append(lines, out...)
		}
	}
	return lines, nil
}

// patchedModfile makes a copy of OPA with the drop-in, and a go.mod for this
// module that uses the copy.
func (m *measurer) patchedModfile(ctx context.Context) (string, error) {
	tree := filepath.Join(m.work, "opa")
	if err := os.CopyFS(tree, os.DirFS(m.OPA)); err != nil {
		return "", err
	}
	if _, err := opabuild.Patch(ctx, tree, false, nil); err != nil {
		return "", err
	}
	return m.Modfile(ctx, m.work, tree)
}
