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
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/bench/internal/measure"
)

// testLogs measures small logs twice. There must be figures of all sides, by
// case. Only DuckDB, which a machine may lack, may have figures besides.
func testLogs(t *testing.T, sides map[string]string) {
	t.Helper()
	repo, err := measure.FindRepository(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var progress strings.Builder
	m := measurer{options: options{runs: 2, size: 1}, Repository: repo, work: t.TempDir(), progress: measure.Progress{W: &progress}}
	lines, err := m.decisionLogs(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	if left, err := filepath.Glob(filepath.Join(m.work, "*-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	r, err := parse("report", lines)
	if err != nil {
		t.Fatal(err)
	}
	for name, impls := range sides {
		var got []string
		for k := range r.samples {
			if k.name == "Report/case="+name && (!strings.HasPrefix(k.impl, "duckdb") || strings.Contains(impls, k.impl)) {
				got = append(got, k.impl)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != impls {
			t.Errorf("case=%s: figures of %q, want %q", name, got, impls)
		}
	}
	for k, samples := range r.samples {
		for _, s := range samples {
			if len(samples) != 2 || s[nanoseconds] <= 0 || s[throughput] <= 0 || runtime.GOOS == "linux" && s[resident] < 1e6 {
				t.Errorf("%v: %v", k, samples)
			}
		}
	}
	if r.config["duckdb"] == "" {
		t.Errorf("the configuration is %q", r.config)
	}
}

func TestLogs(t *testing.T) {
	const all = "regometer regometer_one regometer_portable regometer_stdin"
	testLogs(t, map[string]string{
		"ndjson": all, "ndjson_8k": all, "spaced": all, "pretty": all,
		"docker": "regometer regometer_portable",
		"gzip":   "regometer", "zstd": "regometer", "one": "regometer",
	})
}

// DuckDB returns the exact answer.
func TestLogsDuckDB(t *testing.T) {
	if os.Getenv("REGOMETER_DUCKDB") == "" {
		if _, err := exec.LookPath("duckdb"); err != nil {
			t.Skip("no DuckDB: set REGOMETER_DUCKDB, put duckdb into PATH, or run make test-slow")
		}
	}
	testLogs(t, map[string]string{"docker": "duckdb regometer regometer_portable", "ndjson": "duckdb duckdb_one regometer regometer_one regometer_portable regometer_stdin"})
}

// A side with a wrong answer, or none, has no figures.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &logBench{measurer: &measurer{work: t.TempDir()}}
	wrong := func(io.Reader, truth) error { return errors.New("wrong") }
	right := func(io.Reader, truth) error { return nil }
	for _, test := range []struct {
		s    logSide
		want string // in the error
	}{
		{logSide{"a", logFile{}, []string{self, "-test.list=^$"}, right}, ""},
		{logSide{"a", logFile{}, []string{self, "-test.list=^$"}, wrong}, "wrong"},
		{logSide{"a", logFile{}, []string{self, "-nonsense"}, right}, "flag provided but not defined"},
		{logSide{"a", logFile{}, []string{self + "-none"}, right}, "no such file"},
	} {
		b.lines.Reset()
		err := b.turn(t.Context(), "case", test.s)
		if test.want == "" && (err != nil || b.lines.Len() == 0) {
			t.Errorf("%v, %q", err, &b.lines)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || b.lines.Len() > 0) {
			t.Errorf("the error is %v, want %q; %q", err, test.want, &b.lines)
		}
	}
}
