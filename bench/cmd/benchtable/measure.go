// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/regometer/regometer/opa/opabuild"
)

const (
	rootModule  = "github.com/regometer/regometer"
	benchModule = rootModule + "/bench"
	pluginPath  = rootModule + "/opa"
	opaModule   = "github.com/open-policy-agent/opa"
)

// repository says where the modules are.
type repository struct {
	root, bench, opa string // folders
	opaVersion       string
}

func findRepository(ctx context.Context) (repository, error) {
	var r repository
	for path, dir := range map[string]*string{rootModule: &r.root, benchModule: &r.bench, opaModule: &r.opa} {
		out, err := command(ctx, "", "go", "list", "-m", "-json", path)
		if err != nil {
			return r, fmt.Errorf("%w\nrun this in the repository's folder bench", err)
		}
		var m struct{ Dir, Version string }
		if err := json.Unmarshal(out, &m); err != nil {
			return r, err
		}
		if *dir = m.Dir; m.Dir == "" {
			return r, fmt.Errorf("the source of %s is not here: run go mod download in the repository's folder bench", path)
		}
		if path == opaModule {
			r.opaVersion = m.Version
		}
	}
	return r, nil
}

// command runs a program in a folder and returns what it prints; its error
// holds what it says on stderr. env is added to the environment.
func command(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	// Builds are the same in every folder and workspace.
	if dir != "" {
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	}
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, tail(stdout.Bytes()), tail(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// tail is the end of a long output, for an error message.
func tail(output []byte) []byte {
	const enough = 4 << 10
	return output[max(0, len(output)-enough):]
}

// A measurer runs the parts.
type measurer struct {
	options
	repository
	work     string // a folder that is removed in the end
	progress progress
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
	}
	if err != nil {
		return nil, err
	}
	return append(m.header(part, lines), lines...), nil
}

var cpuLine = regexp.MustCompile(`(?m)^cpu: .*$`)

// header describes the run, in the configuration lines that benchstat knows.
func (m *measurer) header(part string, lines []byte) []byte {
	cpu := string(cpuLine.Find(lines))
	if cpu == "" {
		cpu = "cpu: " + cpuName()
	}
	how := fmt.Sprintf("-runs %d -benchtime %s", m.runs, m.benchtime)
	if part == "server" {
		how = fmt.Sprintf("-runs %d -requests %d", m.runs, m.requests)
	}
	return fmt.Appendf(nil, "date: %s\ngoos: %s\ngoarch: %s\n%s\ncpus: %d\ngo: %s\nopa: %s\ncommand: go run ./cmd/benchtable -parts %s %s\n",
		time.Now().UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, cpu, runtime.NumCPU(), runtime.Version(), m.opaVersion, part, how)
}

// cpuName is the processor's name where the system has it in a file.
func cpuName() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		if m := regexp.MustCompile(`(?m)^model name\s*:\s*(.*)$`).FindSubmatch(text); m != nil {
			return string(m[1])
		}
	}
	return "unknown"
}

// metrics runs the binary of the benchmarks several times. In every other run
// the sides swap places.
func (m *measurer) metrics(ctx context.Context) ([]byte, error) {
	m.progress.printf("metrics: building the benchmarks")
	binary := filepath.Join(m.work, "metrics.test")
	if _, err := command(ctx, m.bench, "go", "test", "-c", "-trimpath", "-o", binary, "."); err != nil {
		return nil, err
	}
	bench := "."
	if m.cases != "" {
		bench = "Metrics/^case=(" + m.cases + ")$"
	}
	var lines []byte
	for i := range m.runs {
		m.progress.printf("metrics: run %d of %d", i+1, m.runs)
		args := []string{"-test.run=^$", "-test.bench=" + bench, "-test.benchtime=" + m.benchtime, "-test.timeout=1h"}
		if i%2 == 1 {
			args = append(args, "-reverse")
		}
		out, err := command(ctx, m.bench, binary, args...)
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
	m.progress.printf("embedded: building with OPA %s as it is and with the drop-in", m.opaVersion)
	modfile, err := m.patchedModfile(ctx)
	if err != nil {
		return nil, err
	}
	binaries := []string{filepath.Join(m.work, "opa.test"), filepath.Join(m.work, "regometer.test")}
	for i, flags := range [][]string{{}, {"-tags=dropin", "-modfile=" + modfile}} {
		args := append([]string{"test", "-c", "-trimpath", "-o", binaries[i]}, flags...)
		if _, err := command(ctx, m.bench, "go", append(args, "./embedded")...); err != nil {
			return nil, err
		}
		if _, err := command(ctx, m.bench, binaries[i], "-test.run=."); err != nil {
			return nil, err
		}
	}
	var lines []byte
	for i := range m.runs {
		m.progress.printf("embedded: run %d of %d", i+1, m.runs)
		for j := range binaries {
			binary := binaries[(i+j)%2]
			out, err := command(ctx, m.bench, binary, "-test.run=^$", "-test.bench=.", "-test.benchtime="+m.benchtime)
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
	if err := os.CopyFS(tree, os.DirFS(m.opa)); err != nil {
		return "", err
	}
	if _, err := opabuild.Patch(ctx, tree, false); err != nil {
		return "", err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(m.bench, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(m.work, name), text, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	modfile := filepath.Join(m.work, "go.mod")
	_, err := command(ctx, m.bench, "go", "mod", "edit",
		"-replace="+opaModule+"="+tree,
		"-replace="+rootModule+"="+m.root,
		"-replace="+pluginPath+"="+filepath.Join(m.root, "opa"),
		modfile)
	return modfile, err
}
