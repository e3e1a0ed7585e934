// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestLock(t *testing.T) {
	c := cache{t.TempDir()}
	notWaiting := func() { t.Error("waits for a free lock") }
	unlock, err := c.lock(t.Context(), "x", notWaiting)
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.lock(t.Context(), "y", notWaiting)
	if err != nil {
		t.Fatal(err)
	}
	other()
	if _, err := tryLock(filepath.Join(c.dir, "x.lock")); !errors.Is(err, errLocked) {
		t.Errorf("a second lock: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	waited := 0
	if _, err := c.lock(ctx, "x", func() { waited++ }); !errors.Is(err, context.DeadlineExceeded) || waited != 1 {
		t.Errorf("waiting ended with %v after %d messages", err, waited)
	}
	unlock()
	if unlock, err = c.lock(t.Context(), "x", notWaiting); err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestWorkDir(t *testing.T) {
	c := cache{t.TempDir()}
	writeText(t, filepath.Join(c.dir, "build", "leftover", "file"), "of a killed build")
	if err := os.Chmod(filepath.Join(c.dir, "build", "leftover"), 0o500); err != nil {
		t.Fatal(err)
	}
	dir, release, err := c.workDir(t.Context(), "build", func() {})
	if err != nil {
		t.Fatal(err)
	}
	if files := readTree(t, dir); len(files) != 0 {
		t.Errorf("not empty: %q", files)
	}
	writeText(t, filepath.Join(dir, "x"), "x")
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
}

func TestPrune(t *testing.T) {
	c := cache{t.TempDir()}
	const n = keepBinaries + 4
	for i := range n {
		dir := filepath.Join(c.dir, "bin", fmt.Sprintf("%02d", i))
		writeText(t, filepath.Join(dir, "opa"), "x")
		// 00 was used last. The first keepBinaries + 2 within the time.
		used := time.Now().Add(-time.Duration(i) * time.Minute)
		if i >= keepBinaries+2 {
			used = used.Add(-keepFor)
		}
		if err := os.Chtimes(dir, used, used); err != nil {
			t.Fatal(err)
		}
	}
	last := fmt.Sprintf("%02d", n-1)
	if _, ok := c.binary(last, "opa"); !ok { // which counts as its use
		t.Fatal("not found")
	}
	c.prune()
	for i := range n {
		key := fmt.Sprintf("%02d", i)
		_, err := os.Stat(filepath.Join(c.dir, "bin", key, "opa"))
		if kept, want := err == nil, i < keepBinaries+2 || key == last; kept != want {
			t.Errorf("binary %s: kept is %t, want %t", key, kept, want)
		}
	}
}

func TestOpenCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	t.Setenv("REGOMETER_CACHE", dir)
	if c, err := openCache(); c.dir != dir || err != nil {
		t.Errorf("got %q, %v", c.dir, err)
	}
	writeText(t, filepath.Join(dir, "file"), "")
	t.Setenv("REGOMETER_CACHE", filepath.Join(dir, "file"))
	_, err := openCache()
	checkError(t, "a file in its place", err, "REGOMETER_CACHE")
	t.Setenv("REGOMETER_CACHE", "")
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, "")
	}
	_, err = openCache()
	checkError(t, "no home", err, "REGOMETER_CACHE")
}
