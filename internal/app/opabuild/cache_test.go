// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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

// addText puts a file into the cache.
func addText(t *testing.T, c cache, key string) string {
	t.Helper()
	file := filepath.Join(c.dir, "built")
	writeText(t, file, "x")
	if err := os.Chmod(file, 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := c.add(key, "opa", file)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// A binary that is not what was built is not used, and gives way to another.
func TestDamaged(t *testing.T) {
	c := cache{t.TempDir()}
	damages := map[string]func(file string) error{
		"truncated": func(file string) error { return os.Truncate(file, 0) },
		"changed":   func(file string) error { return os.WriteFile(file, []byte("y"), 0) },
		"no file": func(file string) error {
			return errors.Join(os.Remove(file), os.MkdirAll(filepath.Join(file, "x"), 0o755))
		},
		"a link": func(file string) error { return errors.Join(os.Rename(file, file+"2"), os.Symlink(file+"2", file)) },
		"no sum": func(file string) error { return os.Remove(file + sumSuffix) },
	}
	if runtime.GOOS != "windows" {
		damages["mode 000"] = func(file string) error { return os.Chmod(file, 0) }
		damages["mode 644"] = func(file string) error { return os.Chmod(file, 0o644) }
	}
	for name, damage := range damages {
		file := addText(t, c, "key")
		if _, ok, err := c.binary("key", "opa"); !ok || err != nil {
			t.Errorf("before it was damaged: %v", err)
		}
		if err := damage(file); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := c.binary("key", "opa"); ok || err == nil {
			t.Errorf("%s: taken for whole, %v", name, err)
		}
	}
	if _, ok, err := c.binary("another", "opa"); ok || err != nil {
		t.Errorf("a binary that was never there: %t, %v", ok, err)
	}
}

func TestPrune(t *testing.T) {
	c := cache{t.TempDir()}
	const n = keepBinaries + 4
	for i := range n {
		dir := filepath.Join(c.dir, "bin", fmt.Sprintf("%02d", i))
		addText(t, c, filepath.Base(dir))
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
	if _, ok, damage := c.binary(last, "opa"); !ok { // which counts as its use
		t.Fatal("not found: ", damage)
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
	t.Setenv("REGOMETER_CACHE", dir+"\nx")
	_, err = openCache()
	checkError(t, "a line break", err, "REGOMETER_CACHE")
	t.Setenv("REGOMETER_CACHE", "")
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, "")
	}
	_, err = openCache()
	checkError(t, "no home", err, "REGOMETER_CACHE")
}
