// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestWorkDir(t *testing.T) {
	c := cache{t.TempDir()}
	notWaiting := func() { t.Error("waits for a free lock") }
	writeText(t, filepath.Join(c.dir, "x", "leftover", "file"), "of a killed build")
	if err := os.Chmod(filepath.Join(c.dir, "x", "leftover"), 0o500); err != nil {
		t.Fatal(err)
	}
	dir, release, err := c.workDir(t.Context(), "x", notWaiting)
	if err != nil {
		t.Fatal(err)
	}
	if files := readTree(t, dir); len(files) != 0 {
		t.Errorf("not empty: %q", files)
	}
	_, other, err := c.workDir(t.Context(), "y", notWaiting)
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
	if _, _, err := c.workDir(ctx, "x", func() { waited++ }); !errors.Is(err, context.DeadlineExceeded) || waited != 1 {
		t.Errorf("waiting ended with %v after %d messages", err, waited)
	}
	writeText(t, filepath.Join(dir, "file"), "x")
	release()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
	if _, release, err = c.workDir(t.Context(), "x", notWaiting); err != nil {
		t.Fatal(err)
	}
	release()
}

// addEntry gets an entry, a program, and reports whether it was made.
func addEntry(t *testing.T, c cache, s store, key string) (file, says string, made bool) {
	t.Helper()
	var b bytes.Buffer
	file, err := c.get(t.Context(), s, key, "opa", progress{w: &b}, func(_, to string) error {
		made = true
		return os.WriteFile(to, []byte(key), 0o755)
	})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); string(text) != key {
		t.Errorf("%s holds %q, %v", file, text, err)
	}
	return file, b.String(), made
}

// An entry that differs from what was made is not used, and is made again.
func TestDamaged(t *testing.T) {
	c := cache{t.TempDir()}
	damages := map[string]func(file string) error{
		"truncated": func(file string) error { return os.Truncate(file, 0) },
		"changed":   func(file string) error { return os.WriteFile(file, []byte("y"), 0) },
		"a folder": func(file string) error {
			return errors.Join(os.Remove(file), os.MkdirAll(filepath.Join(file, "x"), 0o755))
		},
		"removed": os.Remove,
	}
	if runtime.GOOS != "windows" {
		damages["mode 000"] = func(file string) error { return os.Chmod(file, 0) }
		damages["mode 644"] = func(file string) error { return os.Chmod(file, 0o644) }
	}
	addEntry(t, c, binaries, "key")
	for name, damage := range damages {
		file, says, made := addEntry(t, c, binaries, "key")
		if made || says != "" {
			t.Errorf("before it was damaged: %s", says)
		}
		if err := damage(file); err != nil {
			t.Fatal(err)
		}
		if _, says, made := addEntry(t, c, binaries, "key"); !made || says == "" {
			t.Errorf("%s: made is %t, says %q", name, made, says)
		}
	}
	file, _, _ := addEntry(t, c, binaries, "key")
	if err := os.Remove(filepath.Join(filepath.Dir(file), "sum")); err != nil {
		t.Fatal(err)
	}
	if _, says, made := addEntry(t, c, binaries, "key"); !made || says != "" {
		t.Errorf("without a sum: made is %t, says %q", made, says)
	}
}

func TestPrune(t *testing.T) {
	for _, s := range []store{binaries, trees} {
		c := cache{t.TempDir()}
		n := s.keep + 4
		for i := range n {
			file, _, _ := addEntry(t, c, s, fmt.Sprintf("%02d", i))
			// 00 was used last, and the first keep + 2 lately.
			used := time.Now().Add(-time.Duration(i) * time.Minute)
			if i >= s.keep+2 {
				used = used.Add(-s.unused)
			}
			if err := os.Chtimes(filepath.Dir(file), used, used); err != nil {
				t.Fatal(err)
			}
		}
		last := fmt.Sprintf("%02d", n-1)
		addEntry(t, c, s, last) // which counts as its use
		c.prune(s)
		for i := range n {
			key := fmt.Sprintf("%02d", i)
			_, err := os.Stat(filepath.Join(c.dir, s.folder, key, "opa"))
			if kept, want := err == nil, i < s.keep+2 || key == last; kept != want {
				t.Errorf("%s %s: kept is %t, want %t", s.folder, key, kept, want)
			}
		}
	}
}

func TestBesideCopy(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "opa")
	var work []string
	for range 2 {
		dir, err := besideCopy(copied)
		if err != nil {
			t.Fatal(err)
		}
		work = append(work, dir)
	}
	past := time.Now().Add(-2 * trees.unused)
	if err := os.Chtimes(work[0], past, past); err != nil {
		t.Fatal(err)
	}
	if _, err := besideCopy(copied); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(work[0]); err == nil {
		t.Error("the folder of a killed process stays")
	}
	if _, err := os.Stat(work[1]); err != nil {
		t.Error("the folder of another process is gone")
	}
}

func TestOpenCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	t.Setenv("REGOMETER_CACHE", dir)
	if c, err := openCache(); c.dir != dir || err != nil {
		t.Errorf("got %q, %v", c.dir, err)
	}
	writeText(t, filepath.Join(dir, "file"), "")
	for _, name := range []string{filepath.Join(dir, "file"), dir + "\nx", ""} {
		t.Setenv("REGOMETER_CACHE", name)
		if name == "" {
			for _, home := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
				t.Setenv(home, "")
			}
		}
		_, err := openCache()
		checkError(t, name, err, "REGOMETER_CACHE")
	}
}
