// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWorkDir(t *testing.T) {
	c := cache{t.TempDir()}
	leftover := filepath.Join(c.dir, "x", "leftover")
	writeText(t, filepath.Join(leftover, "file"), "of a killed build")
	if err := os.Chmod(leftover, 0o500); err != nil {
		t.Fatal(err)
	}
	var says bytes.Buffer
	p := progress{w: &says}
	lock := func(name string) (dir string, release func()) {
		t.Helper()
		dir, release, err := c.workDir(t.Context(), name, p)
		if err != nil || says.Len() > 0 {
			t.Fatalf("a free lock: %v, says %q", err, &says)
		}
		if files := readTree(t, dir); len(files) != 0 {
			t.Errorf("not empty: %q", files)
		}
		return dir, release
	}
	dir, release := lock("x")
	_, other := lock("y")
	other()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, _, err := c.workDir(ctx, "x", p); !errors.Is(err, context.DeadlineExceeded) || bytes.Count(says.Bytes(), []byte("waiting for")) != 1 {
		t.Errorf("waiting ended with %v, says %q", err, &says)
	}
	says.Reset()
	writeText(t, filepath.Join(dir, "file"), "x")
	release()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
	_, release = lock("x")
	release()
}

// getEntry gets an entry, a program, and reports whether it was made.
func getEntry(t *testing.T, c cache, s store, key string) (file string, made bool) {
	t.Helper()
	file, err := c.get(t.Context(), s, key, "opa", progress{}, func(_, to string) error {
		made = true
		return os.WriteFile(to, []byte(key), 0o755)
	})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); string(text) != key {
		t.Errorf("%s holds %q, %v", file, text, err)
	}
	return file, made
}

func TestPrune(t *testing.T) {
	for _, s := range []store{binaries, trees} {
		c := cache{t.TempDir()}
		used := map[string]time.Duration{"now": 0, "lately": unused - time.Hour, "long ago": unused + time.Hour, "again": unused + time.Hour}
		for key, ago := range used {
			file, _ := getEntry(t, c, s, key)
			at := time.Now().Add(-ago)
			if err := os.Chtimes(filepath.Dir(file), at, at); err != nil {
				t.Fatal(err)
			}
		}
		getEntry(t, c, s, "again") // which counts as its use
		c.prune(s)
		for key := range used {
			_, err := os.Stat(filepath.Join(c.dir, string(s), key, "opa"))
			if kept, want := err == nil, key != "long ago"; kept != want {
				t.Errorf("%s %s: kept is %t, want %t", s, key, kept, want)
			}
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
	for _, name := range []string{filepath.Join(dir, "file"), ""} {
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
