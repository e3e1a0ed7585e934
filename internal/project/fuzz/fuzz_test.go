// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Go's flaw is no finding, and no finding is Go's flaw.
func TestDeadlineFlaw(t *testing.T) {
	const progress = "fuzz: elapsed: 0s, gathering baseline coverage: 3/3 completed, now fuzzing with 2 workers\n" +
		"fuzz: elapsed: 3s, execs: 39153 (13049/sec), new interesting: 129 (total: 134)\n"
	for output, want := range map[string]bool{
		progress + "--- FAIL: FuzzAdd (5.09s)\n    context deadline exceeded\nFAIL\n": true,
		progress + "PASS\n": false,
		progress + "--- FAIL: FuzzAdd (5.09s)\n    context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzAdd/1\nFAIL\n": false,
		progress + "--- FAIL: FuzzAdd (0.02s)\n    --- FAIL: FuzzAdd (0.00s)\n        add_test.go:9: context deadline exceeded\nFAIL\n":     false,
		progress + "--- FAIL: FuzzAdd (5.02s)\n    add_test.go:9: context deadline exceeded\nFAIL\n":                                        false,
		progress + "--- FAIL: FuzzOther (5.02s)\n    context deadline exceeded\nFAIL\n":                                                     false,
		progress + "a warning\n--- FAIL: FuzzAdd (5.09s)\n    context deadline exceeded\nFAIL\n":                                            false,
		progress + "--- FAIL: FuzzAdd (5.09s)\n    context deadline exceeded\n    context deadline exceeded\nFAIL\n":                        false,
		"panic: context deadline exceeded\n": false,
		"":                                   false,
	} {
		if got := deadlineFlaw("FuzzAdd", []byte(output)); got != want {
			t.Errorf("%v, want %v, of\n%s", got, want, output)
		}
	}
	if executions, interesting := statistics([]byte(progress)); executions != 39153 || interesting != 129 {
		t.Errorf("%d executions, %d new interesting", executions, interesting)
	}
}

// Every fuzz test is a target, but those of e2e would not be: it is no module
// of go.work.
func TestTargets(t *testing.T) {
	const root = "../../.."
	targets, err := listTargets(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "grep", "--untracked", "-h", "-o", "-E", `^func Fuzz\w*`, "--", "*_test.go", ":!internal/project/fuzz").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(strings.ReplaceAll(string(out), "func ", ""))
	var got []string
	for _, target := range targets {
		got = append(got, target.name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(got) == 0 {
		t.Errorf("targets %v, want %v", got, want)
	}
}

func TestUsage(t *testing.T) {
	t.Chdir("../../..")
	for _, test := range []struct {
		args   string
		status int
		says   string
	}{
		{"--help", 0, "Usage, in the repository's root"},
		{"-nonsense", 2, "not defined"},
		{"FuzzAdd", 2, `there are only flags, no "FuzzAdd"`},
		{"-run (", 2, "-run: error parsing regexp"},
		{"-time 0s", 2, "must be more than 0"},
		{"-run FuzzNothing", 2, `none of the`},
	} {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), strings.Fields(test.args), &stdout, &stderr)
		if status != test.status || !strings.Contains(stderr.String(), test.says) || stdout.Len() > 0 {
			t.Errorf("%s: status %d, want %d and %q:\n%s%s", test.args, status, test.status, test.says, &stdout, &stderr)
		}
	}
}

// A package with a target of each kind.
const (
	fuzzed = `package x

func branches(n int64) (count int) {
	if n == 1 {
		count++
	}
	if n > 1 {
		count++
	}
	if n > 2 {
		count++
	}
	return count
}
`
	fuzzTests = `package x

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// TestMain plays Go's flaw if it is asked to.
func TestMain(m *testing.M) {
	if os.Getenv("PLAY_FLAW") == "" {
		m.Run()
		return
	}
	if path := os.Getenv("PLAY_FINDING"); path != "" {
		os.MkdirAll(path, 0o777)
		os.WriteFile(path + "/0123", nil, 0o666)
	}
	time.Sleep(time.Millisecond)
	fmt.Print("fuzz: elapsed: 0s, execs: 3 (1/sec), new interesting: 1 (total: 2)\n" +
		"--- FAIL: FuzzClean (0.00s)\n    context deadline exceeded\nFAIL\n")
	os.Exit(1)
}

func FuzzClean(f *testing.F) {
	f.Add(int64(0))
	f.Fuzz(func(*testing.T, int64) {})
}

func FuzzBadSeed(f *testing.F) {
	f.Add(int64(0))
	f.Fuzz(func(t *testing.T, _ int64) { t.Error("context deadline exceeded") })
}

func FuzzFound(f *testing.F) {
	f.Add(int64(0))
	f.Fuzz(func(t *testing.T, n int64) {
		if n != 0 {
			t.Error("context deadline exceeded")
		}
	})
}

func FuzzBranches(f *testing.F) {
	f.Add(int64(0))
	f.Fuzz(func(t *testing.T, n int64) {
		branches(n)
		if n < 0 {
			t.Error("less than 0")
		}
	})
}
`
)

// targetsOf returns the targets of a package with fuzzTests.
func targetsOf(t *testing.T, names ...string) (targets []target, b *binaries) {
	t.Helper()
	t.Setenv("GOWORK", "off")
	pkg := strings.TrimSuffix(allPackages, "...") + "testing-of-fuzz"
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module " + pkg + "\n\ngo 1.26.0\n", "x_test.go": fuzzTests, "x.go": fuzzed} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cache, err := cacheOf(t.Context(), pkg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(cache) })
	for _, name := range names {
		targets = append(targets, target{pkg, dir, name})
	}
	return targets, &binaries{dir: t.TempDir(), stderr: t.Output(), path: map[string]string{}}
}

// Findings are counted, whether Go writes a file of them or not, and do not
// keep the other targets from being fuzzed.
func TestFindings(t *testing.T) {
	targets, b := targetsOf(t, "FuzzBadSeed", "FuzzFound", "FuzzClean")
	var stdout bytes.Buffer
	err := fuzzAll(t.Context(), targets, b, time.Second, 0, &stdout)
	if err == nil || !strings.HasPrefix(err.Error(), "2 findings") {
		t.Errorf("error %v, want 2 findings\n%s", err, &stdout)
	}
	if found, err := filesIn(targets[1].corpus()); len(found) != 1 || err != nil {
		t.Errorf("files of findings: %v, %v", found, err)
	}
	rows := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	for i, findings := range []string{"1", "1", "0", "2"} {
		row := strings.Fields(rows[len(rows)-4+i])
		if len(row) < 5 || row[2] != findings {
			t.Errorf("row %d of the table: %q, want %s findings", i, row, findings)
		}
	}
}

// TestTolerated: Go's flaw fails nothing, unless an input has been found at the
// last moment, or the time was not over.
func TestTolerated(t *testing.T) {
	targets, b := targetsOf(t, "FuzzClean")
	t.Setenv("PLAY_FLAW", "1")
	for _, test := range []struct {
		limit     time.Duration
		finding   string
		findings  int
		tolerated bool
	}{
		{time.Millisecond, "", 0, true},
		{time.Hour, "", 1, false},
		{time.Millisecond, targets[0].corpus(), 1, false},
	} {
		t.Setenv("PLAY_FINDING", test.finding)
		var stdout bytes.Buffer
		r, err := fuzz(t.Context(), targets[0], b, test.limit, &stdout)
		if err != nil || r.findings != test.findings || r.tolerated != test.tolerated || r.executions != 3 || r.interesting != 1 {
			t.Errorf("%+v: %+v, %v\n%s", test, r, err, &stdout)
		}
	}
}

// The time that a target leaves is that of the next ones.
func TestTotal(t *testing.T) {
	targets, b := targetsOf(t, "FuzzBadSeed", "FuzzClean")
	var stdout bytes.Buffer
	_ = fuzzAll(t.Context(), targets, b, time.Hour, 2*time.Second, &stdout) // the bad seed
	var limits [2]time.Duration
	for i, target := range targets {
		_, text, _ := strings.Cut(stdout.String(), target.String()+", ")
		text, _, _ = strings.Cut(text, "\n")
		limits[i], _ = time.ParseDuration(text)
	}
	if limits[0] != time.Second || limits[1] <= time.Second || limits[1] >= 2*time.Second {
		t.Errorf("times %v of 2 s", limits)
	}
}

// What was found before an interrupt is in the table.
func TestInterrupt(t *testing.T) {
	targets, b := targetsOf(t, "FuzzClean", "FuzzFound")
	ctx, cancel := context.WithCancel(t.Context())
	var stdout bytes.Buffer
	err := fuzzAll(ctx, targets, b, time.Hour, 0, writerFunc(func(text []byte) (int, error) {
		if bytes.Contains(text, []byte("now fuzzing")) {
			cancel()
		}
		return stdout.Write(text)
	}))
	if table := stdout.String(); err != nil || !strings.Contains(table, "  testing-of-fuzz FuzzClean\n") || !strings.HasSuffix(table, "  1 of 2 targets\n") {
		t.Errorf("error %v, output:\n%s", err, table)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(text []byte) (int, error) { return f(text) }

// Of the inputs, those are kept that reach what the seeds and the others do
// not. Findings stay.
func TestThin(t *testing.T) {
	targets, b := targetsOf(t, "FuzzBranches")
	branches := targets[0]
	cache, err := cacheOf(t.Context(), branches.pkg)
	if err != nil {
		t.Fatal(err)
	}
	number := func(n int) string { return fmt.Sprintf("go test fuzz v1\nint64(%d)\n", n) }
	write := func(dir string, files map[string]string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	inCache := filepath.Join(cache, branches.name)
	write(inCache, map[string]string{"0": number(0), "2": number(2), "10": number(10), "text": "go test fuzz v1\nstring(\"10\")\n"})
	write(branches.corpus(), map[string]string{"kept-1": number(1), "kept-3": number(3), "0123": number(1)})

	thin := func() (texts []string, err error) {
		t.Helper()
		var stdout bytes.Buffer
		err = thinAll(t.Context(), targets, b, &stdout)
		t.Log(stdout.String())
		files, listing := filesIn(branches.corpus())
		if listing != nil {
			t.Fatal(listing)
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			texts = append(texts, string(files[name]))
		}
		return texts, err
	}
	if got, err := thin(); err != nil || !slices.Equal(got, []string{number(1), number(3)}) {
		t.Errorf("%v, the corpus is %q", err, got)
	}
	if err := os.RemoveAll(inCache); err != nil {
		t.Fatal(err)
	}
	if got, err := thin(); err != nil || !slices.Equal(got, []string{number(1), number(3)}) {
		t.Errorf("%v, the corpus without a cache is %q", err, got)
	}
	write(inCache, map[string]string{"fails": number(-1)})
	if got, err := thin(); err == nil || !strings.Contains(err.Error(), "less than 0") || !slices.Contains(got, number(-1)) {
		t.Errorf("%v, the corpus with an input that fails is %q", err, got)
	}
}

// The corpus is bounded, by number and by size, and new blocks come first.
func TestChoose(t *testing.T) {
	reach := func(name string, size, from, to, times int) input {
		in := input{name: name, text: make([]byte, size), reaches: map[feature]bool{}}
		for block := from; block < to; block++ {
			in.reaches[feature{fmt.Sprint(block), 0}] = true
			in.reaches[feature{fmt.Sprint(block), times}] = true
		}
		return in
	}
	names := func(all ...input) (names string) {
		for _, in := range choose(all) {
			names += in.name
		}
		return names
	}
	if got := names(reach("a", 9, 0, 5, 1), reach("b", 8, 0, 5, 1), reach("c", 9, 0, 5, 2), reach("d", 9, 4, 7, 1)); got != "bdc" {
		t.Errorf("chosen: %s", got)
	}
	if got := names(reach("a", mostBytes+1, 0, 9, 1), reach("b", mostBytes-1, 0, 5, 1), reach("c", 2, 5, 6, 1), reach("d", 1, 6, 7, 1)); got != "bd" {
		t.Errorf("chosen by size: %s", got)
	}
	var many []input
	for i := range 2 * mostInputs {
		many = append(many, reach("x", 1, i, i+1, 1))
	}
	if got := len(choose(many)); got != mostInputs {
		t.Errorf("%d chosen, want %d", got, mostInputs)
	}
}
