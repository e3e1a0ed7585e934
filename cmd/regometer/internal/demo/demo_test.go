// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

var testPolicy = fstest.MapFS{
	"rbac.rego":      {Data: []byte("package rbac\n")},
	"rbac_test.rego": {Data: []byte("package rbac_test\n")},
	"data.json":      {Data: []byte("{}\n")},
}

// outcomeOf is what Run did.
type outcomeOf struct {
	err            error
	stdout, stderr string
}

// runWith runs the demo on fake OPAs; with an empty second name, without the
// comparison.
func runWith(ctx context.Context, t *testing.T, dropIn, unmodified string, change func(*Config)) outcomeOf {
	t.Helper()
	paths := map[bool]string{false: fake(t, dropIn)}
	if unmodified != "" {
		paths[true] = fake(t, unmodified)
	}
	var stdout, stderr bytes.Buffer
	c := Config{
		Build: func(_ context.Context, unmodified bool, _ io.Writer) (string, error) {
			return paths[unmodified], nil
		},
		Policy: testPolicy, Duration: time.Millisecond, Seed: 1, Compare: unmodified != "",
		Stdout: &stdout, Stderr: &stderr,
	}
	if change != nil {
		change(&c)
	}
	err := Run(ctx, c)
	return outcomeOf{err, stdout.String(), stderr.String()}
}

func TestRun(t *testing.T) {
	t.Parallel()
	got := runWith(t.Context(), t, fakeDropIn, fakeUnmodified, func(c *Config) { c.JSON = true })
	if got.err != nil {
		t.Fatalf("%v\n%s", got.err, got.stderr)
	}
	var r result
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatal(err)
	}
	const requests = (warmUpBlocks + minRounds) * blockSize
	if r.OPA != "1.2.3" || r.Requests != requests || r.Incomplete != "" {
		t.Errorf("OPA %s, %d requests, incomplete %q; want 1.2.3, %d, complete", r.OPA, r.Requests, r.Incomplete, requests)
	}
	for _, d := range r.Decisions {
		if d.Sent == 0 || d.Logged != d.mustBeLogged() {
			t.Errorf("%s: %d sent, %d logged", d.Outcome, d.Sent, d.Logged)
		}
	}
	// The drop-in's 1,000 bytes and the other's 4,000, without the 777 for each
	// scrape.
	if r.Comparison == nil {
		t.Fatal("no comparison")
	}
	for _, f := range r.Comparison.PerDecision {
		switch f.Name {
		case "allocated_bytes":
			if f.DropIn != 1000 || f.Unmodified != 4000 || f.Ratio != 0.25 || f.RatioMin != 0.25 || f.RatioMax != 0.25 {
				t.Errorf("allocated bytes %+v", f)
			}
		case "allocations":
			if f.DropIn != 10 || f.Unmodified != 10 || f.Ratio != 1 {
				t.Errorf("allocations %+v", f)
			}
		case "handler_time":
			if f.DropIn != 1 || f.Unmodified != 1 {
				t.Errorf("handler time %+v", f)
			}
		}
	}
	if len(r.Stages) != 2 || r.Stages[0].Name != "server_handler" || r.Stages[0].P99 != 1000 || r.Stages[1].Max != 500 {
		t.Errorf("stages %+v", r.Stages)
	}
	for _, s := range r.Stages {
		if s.Scraped == nil || int(s.Scraped.Count) != s.Count || math.Abs(s.Scraped.P95-float64(s.P95)) > 0.011*float64(s.P95) {
			t.Errorf("stage %+v, scraped %+v", s, s.Scraped)
		}
	}
	if r.Metrics == nil || r.Instrumented == nil {
		t.Error("no example of metrics")
	}
	var log struct{ Groups []struct{ Path string } }
	if err := json.Unmarshal(r.LogReport, &log); err != nil || len(log.Groups) != 7 {
		t.Errorf("the report of the log: %v, %s", err, r.LogReport)
	}
	if r.Compared < 30 || r.Differences != nil {
		t.Errorf("%d figures compared, differences %q", r.Compared, r.Differences)
	}
}

func TestRunWithoutComparison(t *testing.T) {
	t.Parallel()
	got := runWith(t.Context(), t, fakeDropIn, "", nil)
	if got.err != nil {
		t.Fatalf("%v\n%s", got.err, got.stderr)
	}
	if !strings.Contains(got.stdout, "agrees with what was sent") || !strings.Contains(got.stdout, "/metrics agrees with the decision log") || strings.Contains(got.stdout, "drop-in  ratio") {
		t.Errorf("the report:\n%s", got.stdout)
	}
	if strings.Contains(got.stderr, "unmodified") {
		t.Errorf("progress speaks of the unmodified OPA:\n%s", got.stderr)
	}
}

func TestRunFindsFaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ dropIn, unmodified, want string }{
		{fakeForgetful, "", "the decision log does not agree with what was sent"},
		{fakeImprecise, "", "p50: /metrics says 1"},
		{fakeImprecise, "", `opa_decision_path_duration_seconds_sum{path="(query)",stage="rego_query_eval"} is 2060 in /metrics, 2000 in the report`},
		{fakeMute, "", "the report of the decision log does not agree with /metrics:\n  opa_decision"},
		{fakeAstray, "", `opa_decision_path_duration_seconds_count{path="other",stage="server_handler"} is 5 in /metrics, 4 in the report`},
		{fakeWrong, "", "OPA with the drop-in answered 1 of "},
		{fakeDropIn, fakeWrong, "unmodified OPA answered 1 of "},
		{fakeBroken, "", "OPA with the drop-in ended unexpectedly (exit status 3); its last lines:\n  rego_parse_error: somewhere"},
		{fakeDropIn, fakeBroken, "unmodified OPA ended unexpectedly (exit status 3); its last lines:\n  rego_parse_error: somewhere"},
		{fakeDying, "", "ended unexpectedly (exit status 3); its last lines:\n  panic: something went wrong"},
		{fakeDropIn, fakeDying, "unmodified OPA ended unexpectedly"},
	} {
		t.Run(test.dropIn+" "+test.unmodified, func(t *testing.T) {
			t.Parallel()
			got := runWith(t.Context(), t, test.dropIn, test.unmodified, nil)
			if got.err == nil || !strings.Contains(got.err.Error(), test.want) {
				t.Errorf("error %v, want %q", got.err, test.want)
			}
		})
	}
}

func TestRunReportsWhatADyingServerDid(t *testing.T) {
	t.Parallel()
	got := runWith(t.Context(), t, fakeDying, "", nil)
	if got.err == nil || !strings.Contains(got.stdout, "The run ended early") || !strings.Contains(got.stdout, ": 59 requests") {
		t.Errorf("error %v, report:\n%s", got.err, got.stdout)
	}
}

func TestRunInterruptedWhileBuilding(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	got := runWith(ctx, t, fakeDropIn, "", func(c *Config) {
		c.Build = func(ctx context.Context, _ bool, _ io.Writer) (string, error) {
			cancel()
			return "", ctx.Err()
		}
	})
	if !errors.Is(got.err, context.Canceled) || got.stdout != "" || !strings.Contains(got.stderr, "Interrupted before a query was sent") {
		t.Errorf("error %v, stdout %q, stderr %q", got.err, got.stdout, got.stderr)
	}
}

func TestRunInterruptedUnderLoad(t *testing.T) {
	t.Parallel()
	keep := filepath.Join(t.TempDir(), "keep")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
			log, err := os.ReadFile(filepath.Join(keep, dropInLogFile))
			if err == nil && bytes.Count(log, []byte("\n")) > 2*warmUpBlocks*blockSize {
				cancel()
			}
		}
	}()
	got := runWith(ctx, t, fakeDropIn, "", func(c *Config) {
		c.Keep, c.Duration = keep, time.Hour
	})
	if !errors.Is(got.err, context.Canceled) || !strings.Contains(got.stdout, "The run ended early") {
		t.Errorf("error %v, report:\n%s", got.err, got.stdout)
	}
	if !strings.Contains(got.stdout, "Decisions by path\n\nrbac/allow") {
		t.Errorf("no report of the log as far as it is:\n%s", got.stdout)
	}
	if strings.Contains(got.stdout, "Not as it must be") {
		t.Errorf("an interrupted run cannot be checked:\n%s", got.stdout)
	}
	var names []string
	entries, err := os.ReadDir(keep)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := "drop-in.jsonl policy report.json report.txt"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("kept %v, %v, want %s", names, err, want)
	}
	if _, err := os.Stat(filepath.Join(keep, policyFolder, "rbac_test.rego")); err == nil {
		t.Error("the policy's tests were given to the server")
	}
}

func TestRunChecksBeforeItBuilds(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	file := filepath.Join(full, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"the duration must be greater than 0, not -1s": func(c *Config) { c.Duration = -time.Second },
		"is not empty: name a new or an empty folder":  func(c *Config) { c.Keep = full },
		"cannot keep the output there":                 func(c *Config) { c.Keep = file },
	} {
		c := Config{
			Duration: time.Second,
			Build: func(context.Context, bool, io.Writer) (string, error) {
				t.Error("it built something")
				return "", errors.New("not reached")
			},
			Stdout: io.Discard, Stderr: io.Discard,
		}
		change(&c)
		if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestRunLeavesNothingBehind(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	keep := filepath.Join(t.TempDir(), "keep")
	for _, dir := range []string{"", keep} {
		err := Run(t.Context(), Config{
			Duration: time.Second, Keep: dir,
			Build:  func(context.Context, bool, io.Writer) (string, error) { return "", errors.New("no build") },
			Stdout: io.Discard, Stderr: io.Discard,
		})
		if err == nil || err.Error() != "no build" {
			t.Errorf("error %v", err)
		}
	}
	if entries, err := os.ReadDir(tmp); err != nil || len(entries) > 0 {
		t.Errorf("in the temporary folder: %v, %v", entries, err)
	}
	if _, err := os.Stat(keep); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder to keep nothing in is there: %v", err)
	}
}
