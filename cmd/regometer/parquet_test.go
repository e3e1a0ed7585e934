// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestReportParquet checks that the file is whole and in its place, and
// replaces an earlier one. It may be in the folder that is read, unless it was
// there before.
func TestReportParquet(t *testing.T) {
	dir := t.TempDir()
	log, out := filepath.Join(dir, "decisions.log"), filepath.Join(dir, "out.parquet")
	write(log, succeed(t, "sample", "--decisions", "1000"))
	for _, c := range []struct {
		args []string
		rows int64
	}{
		{[]string{dir}, 1000},
		{[]string{log}, 1000},
		{[]string{"--allow-empty", "--path", "nothing", log}, 0},
		{[]string{log, log}, 1000},
	} {
		succeed(t, append([]string{"report", "--parquet", out}, c.args...)...)
		if rows := rowsIn(out); rows != c.rows {
			t.Errorf("%q: %d rows, want %d", c.args, rows, c.rows)
		}
		if got, want := filesIn(dir), "decisions.log out.parquet"; got != want {
			t.Errorf("there are %s, want %s", got, want)
		}
	}

	// After an interrupt the file has the decisions that were read.
	ctx, cancel := context.WithCancel(t.Context())
	stdin := io.MultiReader(strings.NewReader(read(log)), readerFunc(func([]byte) (int, error) { cancel(); return 0, io.ErrNoProgress }))
	var stderr bytes.Buffer
	status := run(ctx, []string{"report", "-", "--parquet", out}, stdin, io.Discard, &stderr)
	if want := "interrupted: the output covers only what was read until then"; status != exitInterrupted || !strings.Contains(stderr.String(), want) {
		t.Errorf("status %d: %s", status, &stderr)
	}
	if rows := rowsIn(out); rows != 1000 {
		t.Errorf("after an interrupt there are %d rows", rows)
	}
}

// rowsIn returns the number of rows in a Parquet file.
func rowsIn(name string) int64 {
	text := read(name)
	return must(parquet.OpenFile(strings.NewReader(text), int64(len(text)))).NumRows()
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
