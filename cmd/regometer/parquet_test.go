// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// smallLog writes a log of some decisions into a folder of its own.
func smallLog(t *testing.T, decisions int64) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "decisions.log")
	var stderr bytes.Buffer
	if status := run(t.Context(), []string{"sample", "--decisions", strconv.FormatInt(decisions, 10), "-o", name}, nil, io.Discard, &stderr); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	return name
}

// rowsIn returns how many rows a Parquet file has.
func rowsIn(t *testing.T, name string) int64 {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	return f.NumRows()
}

// filesIn returns the names of what is in a folder.
func filesIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func runReport(ctx context.Context, args ...string) (status int, stderr string) {
	var b bytes.Buffer
	status = run(ctx, append([]string{"report"}, args...), strings.NewReader(""), io.Discard, &b)
	return status, b.String()
}

// The file is whole, in its place, and replaces one that was there. It may be
// in the folder that is read, unless it was there before.
func TestReportParquet(t *testing.T) {
	log := smallLog(t, 1000)
	dir := filepath.Dir(log)
	out := filepath.Join(dir, "out.parquet")
	for _, c := range []struct {
		args []string
		rows int64
	}{
		{[]string{dir}, 1000},
		{[]string{log}, 1000},
		{[]string{"--path", "nothing", log}, 0},
		{[]string{log, log}, 1000},
	} {
		if status, stderr := runReport(t.Context(), append(c.args, "--parquet", out)...); status != 0 || stderr != "" {
			t.Fatalf("%q: status %d: %s", c.args, status, stderr)
		}
		if rows := rowsIn(t, out); rows != c.rows {
			t.Errorf("%q: %d rows, want %d", c.args, rows, c.rows)
		}
		if got, want := filesIn(t, dir), "decisions.log decisions.log.truth.json out.parquet"; got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
	}
	if status, stderr := runReport(t.Context(), dir, "--parquet", out); status != 1 || !strings.Contains(stderr, "out.parquet is also the input ") {
		t.Errorf("in the folder that is read: status %d: %s", status, stderr)
	}
}

// What is no Parquet file stays, and what fails leaves nothing.
func TestReportParquetRefused(t *testing.T) {
	log := smallLog(t, 10)
	dir := filepath.Dir(log)
	before := filesIn(t, dir)
	for _, c := range []struct{ out, log, want string }{
		{log, log, "is also the input "},
		{dir, log, "is a folder, and would be replaced"},
		{filepath.Join(dir, "none", "out.parquet"), log, "none"},
		{filepath.Join(log, "out.parquet"), log, "decisions.log"},
		{filepath.Join(dir, "out.parquet"), filepath.Join(dir, "none.log"), "none.log"},
	} {
		status, stderr := runReport(t.Context(), c.log, "--parquet", c.out)
		if status != 1 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d: %s", c.out, status, stderr)
		}
		if after := filesIn(t, dir); after != before {
			t.Errorf("%s: there are %s, want %s", c.out, after, before)
		}
	}
}

// A link stays one, and the permissions of the file that is replaced stay.
func TestReportParquetLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	log, dir := smallLog(t, 10), t.TempDir()
	file, link := filepath.Join(dir, "file.parquet"), filepath.Join(dir, "link.parquet")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file.parquet", link); err != nil {
		t.Fatal(err)
	}
	if status, stderr := runReport(t.Context(), log, "--parquet", link); status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if to, err := os.Readlink(link); err != nil || to != "file.parquet" {
		t.Errorf("the link leads to %q: %v", to, err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if rowsIn(t, file) != 10 || info.Mode() != 0o600 {
		t.Errorf("%d rows, mode %v", rowsIn(t, file), info.Mode())
	}
}

// After an interrupt the file has what was read.
func TestReportParquetInterrupted(t *testing.T) {
	log := smallLog(t, 1000)
	out := filepath.Join(t.TempDir(), "out.parquet")
	ctx, cancel := context.WithCancel(t.Context())
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	stdin := io.MultiReader(bytes.NewReader(text), readerFunc(func([]byte) (int, error) { cancel(); return 0, io.ErrNoProgress }))
	var stderr bytes.Buffer
	status := run(ctx, []string{"report", "-", "--parquet", out}, stdin, io.Discard, &stderr)
	if want := "interrupted: the report and " + out + " cover only what was read until then"; status != exitInterrupted || !strings.Contains(stderr.String(), want) {
		t.Errorf("status %d: %s", status, &stderr)
	}
	if rows := rowsIn(t, out); rows != 1000 {
		t.Errorf("%d rows", rows)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
