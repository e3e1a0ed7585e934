// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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
	for _, s := range f.servers {
		runPromtool(t, ourFamilies(string(s.get(t, "/metrics"))), "check", "metrics")
	}
	runPromtool(t, "", "check", "rules", "--lint-fatal", nativeRules, classicRules, alertRules)
	runPromtool(t, "", "check", "config", filepath.Join(root, "dashboards", "prometheus.yaml"))
}

// TestPromtool: promtool itself tests the rules as we tell people to.
func TestPromtool(t *testing.T) {
	if testing.Short() {
		t.Skip("building promtool takes minutes")
	}
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, "dashboards", "tests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of rules found: %v", err)
	}
	runPromtool(t, "", append([]string{"test", "rules"}, files...)...)
}

// ourFamilies returns the lines of a scrape that are not OPA's own.
func ourFamilies(scrape string) string {
	var b strings.Builder
	for line := range strings.Lines(scrape) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if strings.HasPrefix(name, "opa_decision") || strings.HasPrefix(name, "regometer_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// checkSeriesGauge compares the series of a text scrape with the gauge, and
// returns how many there are.
func checkSeriesGauge(t *testing.T, name, ours string) int {
	t.Helper()
	series, gauge := 0, -1
	for line := range strings.Lines(ours) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		series++
		if value, ok := strings.CutPrefix(line, "opa_decision_metric_series "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			gauge = int(n)
		}
	}
	if series != gauge {
		t.Errorf("%s: a scrape has %d series, opa_decision_metric_series is %d", name, series, gauge)
	}
	return series
}

// promtool is built from the sources of the Prometheus that the tests are built
// with, with the dependencies that those name.
var promtool = sync.OnceValues(func() (string, error) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/prometheus/prometheus")
	list.Stderr = os.Stderr
	source, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("%v: %w", list, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	file := filepath.Join(cache, "regometer-e2e", "promtool")
	// Without the service discoveries, which promtool needs for nothing here.
	build := exec.Command("go", "build", "-tags", "remove_all_sd", "-o", file, "./cmd/promtool")
	build.Dir = strings.TrimSpace(string(source))
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", build, err, output)
	}
	return file, nil
})

func runPromtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	file, err := promtool()
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	cmd := exec.Command(file, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &output, &output
	if err := cmd.Run(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, &output)
	}
}
