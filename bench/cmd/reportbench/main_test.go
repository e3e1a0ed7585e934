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

func TestFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                   "-bin is missing",
		"-bin b -runs 0":     "at least 1",
		"-bin b -size 0":     "from 1 to 2500",
		"-bin b -size 2501":  "from 1 to 2500",
		"-bin b file":        `unexpected argument "file"`,
		"-bin b -nonsense 1": "flag provided but not defined",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want one with %q", args, err, want)
		}
	}
}

// programs builds the programs that are measured.
func programs(t *testing.T) string {
	t.Helper()
	repo, err := measure.FindRepository(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	workspace := []string{"GOWORK=" + filepath.Join(repo.Root, "go.work")}
	if _, err := measure.CommandWith(t.Context(), workspace, repo.Root, "go", "build", "-o", bin+string(filepath.Separator),
		"./cmd/regometer", "./bench/cmd/plainreport", "./bench/cmd/decompress"); err != nil {
		t.Fatal(err)
	}
	if _, err := measure.CommandWith(t.Context(), workspace, repo.Root, "go", "build", "-tags", "purego",
		"-o", filepath.Join(bin, "purego")+string(filepath.Separator), "./cmd/regometer"); err != nil {
		t.Fatal(err)
	}
	return bin
}

// figures runs everything twice on small logs and returns how often each side
// of each case is among the figures.
func figures(t *testing.T, bin string) (runs map[string]int, output string) {
	t.Helper()
	var out, progress strings.Builder
	work := t.TempDir()
	err := run(t.Context(), []string{"-bin", bin, "-work", work, "-runs", "2", "-size", "1"}, &out, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	results, err := measure.Parse([]byte(out.String()), func(benchmark string) (measure.Key, error) {
		name, impl, _ := strings.Cut(benchmark, "/impl=")
		return measure.Key{Name: name, Impl: impl}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	runs = map[string]int{}
	for key, samples := range results.Samples {
		runs[key.Name+" "+key.Impl] = len(samples)
		for _, s := range samples {
			if s[measure.Nanoseconds] <= 0 || s["MB/s"] <= 0 || runtime.GOOS == "linux" && s["max-B"] < 1e6 {
				t.Errorf("%v: %v", key, s)
			}
		}
	}
	return runs, out.String() + progress.String()
}

func checkSides(t *testing.T, runs map[string]int, sides map[string]string) {
	t.Helper()
	for name, impls := range sides {
		for impl := range strings.FieldsSeq(impls) {
			if n := runs["Report/case="+name+" "+impl]; n != 2 {
				t.Errorf("case=%s: %d runs of %s", name, n, impl)
			}
		}
	}
}

func TestRun(t *testing.T) {
	bin := programs(t)
	t.Setenv("REGOMETER_DUCKDB", "")
	t.Setenv("PATH", "") // neither DuckDB nor jq
	runs, output := figures(t, bin)
	ours := map[string]string{
		"ndjson_512": "regometer_all regometer_one regometer_portable encoding_json", "ndjson_512_quarter": "regometer_all",
		"ndjson_8k": "regometer_all regometer_one regometer_portable encoding_json", "ndjson_8k_quarter": "regometer_all",
		"spaced": "regometer_all regometer_one regometer_portable encoding_json", "spaced_quarter": "regometer_all",
		"pretty": "regometer_all regometer_one regometer_portable", "pretty_quarter": "regometer_all",
		"docker": "regometer_all regometer_portable", "docker_quarter": "regometer_all",
		"gzip": "regometer_all library", "gzip_quarter": "regometer_all",
		"zstd": "regometer_all library", "zstd_quarter": "regometer_all",
	}
	checkSides(t, runs, ours)
	if len(runs) != 28 {
		t.Errorf("got %v", runs)
	}
	for _, want := range []string{"duckdb: none\n", "jq: none\n", "skipped duckdb: ", "skipped jq: ", "compress: github.com/klauspost/compress v1."} {
		if !strings.Contains(output, want) {
			t.Errorf("the output lacks %q:\n%s", want, output)
		}
	}
}

// DuckDB gives the exact answer.
func TestRunDuckDB(t *testing.T) {
	if os.Getenv("REGOMETER_DUCKDB") == "" {
		if _, err := exec.LookPath("duckdb"); err != nil {
			t.Skip("no DuckDB: set REGOMETER_DUCKDB, put duckdb into PATH, or run make test-duckdb")
		}
	}
	runs, _ := figures(t, programs(t))
	checkSides(t, runs, map[string]string{
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
	b := &bench{work: t.TempDir(), out: &out}
	wrong := func(io.Reader, truth) error { return errors.New("wrong") }
	right := func(io.Reader, truth) error { return nil }
	for _, test := range []struct {
		s    side
		want string // in the error
	}{
		{side{"a", "b", logFile{}, []string{self, "-test.list=^$"}, right}, ""},
		{side{"a", "b", logFile{}, []string{self, "-test.list=^$"}, wrong}, "case=a, impl=b: wrong"},
		{side{"a", "b", logFile{}, []string{self, "-nonsense"}, right}, "flag provided but not defined"},
		{side{"a", "b", logFile{}, []string{self + "-none"}, right}, "no such file"},
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
