// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/regometer/regometer/bench/internal/measure"
)

// runLogs builds the programs, runs everything twice on small logs and returns
// the figures and the output.
func runLogs(t *testing.T) (results, string) {
	t.Helper()
	repo, err := measure.FindRepository(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := measurer{Repository: repo, work: t.TempDir(), progress: silent}
	bin, err := m.buildPrograms(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out, progress strings.Builder
	work := t.TempDir()
	if err := run(t.Context(), []string{"-bin", bin, "-out", work, "-runs", "2", "-size", "1"}, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	if left, err := filepath.Glob(filepath.Join(work, "*-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	r, err := parse("report", []byte(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	for k, samples := range r.samples {
		for _, s := range samples {
			if len(samples) != 2 || s[nanoseconds] <= 0 || s[throughput] <= 0 || runtime.GOOS == "linux" && s[resident] < 1e6 {
				t.Errorf("%v: %v", k, samples)
			}
		}
	}
	return r, out.String() + progress.String()
}

func checkSides(t *testing.T, r results, sides map[string]string) {
	t.Helper()
	for name, impls := range sides {
		for impl := range strings.FieldsSeq(impls) {
			if !r.has("Report/case="+name, impl) {
				t.Errorf("case=%s: no figures of %s", name, impl)
			}
		}
	}
}

func TestLogs(t *testing.T) {
	t.Setenv("REGOMETER_DUCKDB", "")
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(goCommand)) // neither DuckDB nor jq
	r, output := runLogs(t)
	checkSides(t, r, map[string]string{
		"ndjson_512": "regometer_all regometer_one regometer_portable encoding_json", "ndjson_512_quarter": "regometer_all",
		"ndjson_8k": "regometer_all regometer_one regometer_portable encoding_json", "ndjson_8k_quarter": "regometer_all",
		"spaced": "regometer_all regometer_one regometer_portable encoding_json", "spaced_quarter": "regometer_all",
		"pretty": "regometer_all regometer_one regometer_portable", "pretty_quarter": "regometer_all",
		"docker": "regometer_all regometer_portable", "docker_quarter": "regometer_all",
		"gzip": "regometer_all library", "gzip_quarter": "regometer_all",
		"zstd": "regometer_all library", "zstd_quarter": "regometer_all",
	})
	if len(r.samples) != 28 {
		t.Errorf("figures of %d sides, want 28", len(r.samples))
	}
	for _, want := range []string{"duckdb: none\n", "jq: none\n", "skipped duckdb: ", "skipped jq: ", "compress: github.com/klauspost/compress v1."} {
		if !strings.Contains(output, want) {
			t.Errorf("the output lacks %q:\n%s", want, output)
		}
	}
}

// DuckDB returns the exact answer.
func TestLogsDuckDB(t *testing.T) {
	if os.Getenv("REGOMETER_DUCKDB") == "" {
		if _, err := exec.LookPath("duckdb"); err != nil {
			t.Skip("no DuckDB: set REGOMETER_DUCKDB, put duckdb into PATH, or run make test-duckdb")
		}
	}
	r, _ := runLogs(t)
	checkSides(t, r, map[string]string{
		"ndjson_512": "duckdb_one duckdb_all", "ndjson_8k": "duckdb_one duckdb_all", "spaced": "duckdb_one duckdb_all", "docker": "duckdb_all",
	})
}

// A side with a wrong answer, or none, has no figures.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	b := &logBench{work: t.TempDir(), out: &out, progress: silent}
	wrong := func(io.Reader, truth) error { return errors.New("wrong") }
	right := func(io.Reader, truth) error { return nil }
	for _, test := range []struct {
		s    logSide
		want string // in the error
	}{
		{logSide{"a", "b", logFile{}, []string{self, "-test.list=^$"}, right}, ""},
		{logSide{"a", "b", logFile{}, []string{self, "-test.list=^$"}, wrong}, "case=a, impl=b: wrong"},
		{logSide{"a", "b", logFile{}, []string{self, "-nonsense"}, right}, "flag provided but not defined"},
		{logSide{"a", "b", logFile{}, []string{self + "-none"}, right}, "no such file"},
	} {
		out.Reset()
		err := b.turn(t.Context(), test.s)
		if test.want == "" && (err != nil || out.Len() == 0) {
			t.Errorf("%v, %q", err, &out)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || out.Len() > 0) {
			t.Errorf("error is %v, want one with %q; %q", err, test.want, &out)
		}
	}
}
