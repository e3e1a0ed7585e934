// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/opa/opabuild"
)

func TestDemoRefuses(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--duration", "0s"}, exitFailure, "the duration must be greater than 0, not 0s"},
		{[]string{"--keep", full}, exitFailure, "is not empty: name a new or an empty folder to keep the output in"},
		{[]string{"--duration", "5"}, exitUsage, `invalid argument "5" for "--duration" flag`},
		{[]string{"--seed", "-1"}, exitUsage, `invalid argument "-1" for "--seed" flag`},
		{[]string{"policy"}, exitUsage, `unknown command "policy" for "regometer demo"`},
	} {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), append([]string{"demo"}, test.args...), nil, &stdout, &stderr)
		if status != test.status || stdout.Len() > 0 || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("demo %q: status %d, stdout %q, stderr %q; want status %d, %q",
				test.args, status, &stdout, &stderr, test.status, test.want)
		}
	}
}

func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	status := run(ctx, []string{"demo"}, nil, &stdout, &stderr)
	if status != exitInterrupted || stdout.Len() > 0 || !strings.Contains(stderr.String(), "Interrupted before a query was sent") {
		t.Errorf("status %d, stdout %q, stderr %q", status, &stdout, &stderr)
	}
}

type demoStage struct {
	Name              string
	Count, Unfinished int
	P50               int64 `json:"p50_ns"`
	P99               int64 `json:"p99_ns"`
	Max               int64 `json:"max_ns"`
	Scraped           *struct {
		Count int
		P50   float64 `json:"p50_ns"`
		P99   float64 `json:"p99_ns"`
	}
}

func TestDemo(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds OPA twice: set REGOMETER_SLOW_TESTS=1")
	}
	keep := filepath.Join(t.TempDir(), "keep")
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"demo", "--json", "--duration", "2s", "--keep", keep}, nil, &stdout, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	var report struct {
		OPA       string `json:"opa_version"`
		Decisions []struct {
			Outcome      string
			Sent, Logged int
		}
		Metrics      map[string]any `json:"metrics_example"`
		Instrumented map[string]any `json:"instrumented_example"`
		Stages       []demoStage
		Compared     int             `json:"compared_figures"`
		Differences  []string        `json:"differing_figures"`
		LogReport    json.RawMessage `json:"log_report"`
		Comparison   struct {
			PerDecision []struct {
				Name       string
				Unmodified float64
				DropIn     float64 `json:"drop_in"`
			} `json:"per_decision"`
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if "v"+report.OPA != opabuild.NewestVersion {
		t.Errorf("OPA %s, want %s", report.OPA, opabuild.NewestVersion)
	}
	if len(report.Decisions) != 6 {
		t.Errorf("decisions %+v", report.Decisions)
	}
	for _, d := range report.Decisions {
		if want := map[bool]int{false: d.Sent}[d.Outcome == "malformed"]; d.Sent == 0 || d.Logged != want {
			t.Errorf("%s: %d sent, %d logged, want %d", d.Outcome, d.Sent, d.Logged, want)
		}
	}
	for _, name := range []string{"server_handler", "rego_input_parse", "rego_query_compile", "rego_query_eval", "rego_builtin_http_send", "eval_op_plug"} {
		i := slices.IndexFunc(report.Stages, func(s demoStage) bool { return s.Name == name })
		if i < 0 || report.Stages[i].Count == 0 || report.Stages[i].P50 <= 0 || report.Stages[i].Max < report.Stages[i].P50 {
			t.Errorf("no figures for stage %s in %+v", name, report.Stages)
		}
	}
	for _, s := range report.Stages {
		if strings.HasPrefix(s.Name, "eval_op_") {
			continue // has no histogram of its own
		}
		const bound = 0.011 // half a bucket of schema 5
		if s.Scraped == nil || s.Scraped.Count != s.Count ||
			math.Abs(s.Scraped.P50/float64(s.P50)-1) > bound || math.Abs(s.Scraped.P99/float64(s.P99)-1) > bound {
			t.Errorf("stage %+v is %+v in /metrics", s, s.Scraped)
		}
	}
	if report.Stages[0].Name != "server_handler" || report.Stages[0].Unfinished == 0 {
		t.Errorf("the first stage is %+v, want the handler, with those of POST /v1/query unfinished", report.Stages[0])
	}
	if _, ok := report.Metrics["timer_server_handler_ns"]; !ok {
		t.Errorf("one decision's metrics: %v", report.Metrics)
	}
	if _, ok := report.Instrumented["histogram_eval_op_plug"]; !ok {
		t.Errorf("an instrumented decision's metrics: %v", report.Instrumented)
	}
	if report.Compared < 60 || report.Differences != nil {
		t.Errorf("%d figures of the log's report compared with /metrics, of which differ %q", report.Compared, report.Differences)
	}
	sameReport(t, report.LogReport, filepath.Join(keep, "drop-in.jsonl"))
	if len(report.Comparison.PerDecision) != 4 {
		t.Errorf("comparison %+v", report.Comparison)
	}
	for _, f := range report.Comparison.PerDecision {
		if f.DropIn <= 0 || f.Unmodified <= 0 {
			t.Errorf("no figures for %+v", f)
		}
	}
	for _, name := range []string{"drop-in.jsonl", "unmodified.jsonl", "report.txt", "report.json", "policy/rbac.rego"} {
		if _, err := os.Stat(filepath.Join(keep, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
}

// sameReport checks that a report is what regometer report says of a log.
func sameReport(t *testing.T, got json.RawMessage, log string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"report", "--format", "json", log}, nil, &stdout, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	compact := func(text []byte) string {
		var b bytes.Buffer
		if err := json.Compact(&b, text); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got, want := compact(got), compact(stdout.Bytes()); got != want {
		t.Errorf("the demo reports %s\nregometer report %s", got, want)
	}
}

// The example policy passes its own tests, in the form that OPA gives it.
func TestExamplePolicy(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("builds OPA: set REGOMETER_SLOW_TESTS=1")
	}
	opa, err := opabuild.Build(t.Context(), opabuild.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"test", "--threshold", "100", "."},
		{"check", "--strict", "."},
		{"fmt", "--fail", "--diff", "."},
	} {
		cmd := exec.Command(opa, args...)
		cmd.Dir = filepath.FromSlash("../../examples/policy")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("opa %s: %v\n%s", strings.Join(args, " "), err, output)
		}
	}
}
