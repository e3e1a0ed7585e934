// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// testPromtool lints a real scrape and the rules, by promtool itself unless
// -short is set, and compares how many series there are with what OPA says.
func testPromtool(t *testing.T, f *fleet) {
	for _, s := range f.servers {
		ours := ourFamilies(string(s.get(t, "/metrics")))
		problems, err := promlint.New(strings.NewReader(ours)).Lint()
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s: %s", s.name, p.Metric, p.Text)
		}
		checkSeriesGauge(t, s.name, ours)
	}
	if testing.Short() {
		return
	}
	promtool := buildPromtool(t)
	for _, s := range f.servers {
		runPromtool(t, promtool, ourFamilies(string(s.get(t, "/metrics"))), "check", "metrics")
	}
	runPromtool(t, promtool, "", "check", "rules", "--lint-fatal", nativeRules, classicRules, alertRules)
	runPromtool(t, promtool, "", "check", "config", filepath.Join(root, "dashboards", "prometheus.yaml"))
}

// ourFamilies returns the lines of a scrape that are not OPA's own: opa_info is
// the one name under opa_ that is.
func ourFamilies(scrape string) string {
	var b strings.Builder
	for line := range strings.Lines(scrape) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if strings.HasPrefix(name, "opa_decision") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// checkSeriesGauge compares the series of a text scrape with the gauge, which
// knows all but the plugin's own, and returns how many there are.
func checkSeriesGauge(t *testing.T, name, ours string) int {
	t.Helper()
	series, plugins, gauge := 0, 0, -1
	for line := range strings.Lines(ours) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		series++
		if strings.HasPrefix(line, "opa_decision_plugin_failures_total") {
			plugins++
		}
		if value, ok := strings.CutPrefix(line, "opa_decision_metric_series "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			gauge = int(n)
		}
	}
	if series != gauge+plugins {
		t.Errorf("%s: a scrape has %d series, want %d by opa_decision_metric_series", name, series, gauge+plugins)
	}
	return series
}

// buildPromtool builds promtool from the sources of the Prometheus that the
// tests are built with, with the dependencies that those name.
func buildPromtool(t *testing.T) string {
	t.Helper()
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/prometheus/prometheus")
	dir, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	file := filepath.Join(t.TempDir(), "promtool")
	// Without the service discoveries, which promtool needs for nothing here.
	build := exec.Command("go", "build", "-tags", "remove_all_sd", "-o", file, "./cmd/promtool")
	build.Dir = strings.TrimSpace(string(dir))
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, output)
	}
	return file
}

func runPromtool(t *testing.T, promtool, stdin string, args ...string) {
	t.Helper()
	var output bytes.Buffer
	cmd := exec.Command(promtool, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &output, &output
	if err := cmd.Run(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, &output)
	}
}
