// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Write replaces only regular files.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // the path of a socket is short
	if err := os.WriteFile("file", []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	write := func(name string) error {
		to, err := Resolve(name)
		if err != nil {
			return err
		}
		return Write(to, []byte("new"))
	}
	for link, to := range map[string]string{"link": "chain", "chain": filepath.Join(dir, "file"), "dangling": "nothing", "tofolder": "."} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
	}
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Skip(err)
	}
	defer socket.Close()
	for name, want := range map[string]string{"tofolder": "is a folder", "dangling": "link to nothing, which does not exist", "socket": "is no regular file"} {
		before, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := write(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, want)
		}
		if after, err := os.Lstat(name); err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() {
			t.Errorf("%s became %v, %v", name, after, err)
		}
	}
	// Through a chain of links the file changes, and they stay.
	if err := write("link"); err != nil {
		t.Fatal(err)
	}
	if err := write("another"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "file", "another"} {
		if text, err := os.ReadFile(name); string(text) != "new" {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"link", "chain"} {
		if _, err := os.Readlink(name); err != nil {
			t.Errorf("%s is not a link any more: %v", name, err)
		}
	}
}

// All names of a place resolve to the same path.
func TestResolve(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := os.MkdirAll(filepath.Join("a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("a", "b"), "link"); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"x": "x", "./x": "x", "a/../x": "x", "link/x": "a/b/x", "link/../x": "a/x", "link/../../file": "file",
		filepath.Join(dir, "link", "x"): filepath.Join(dir, "a", "b", "x"),
		"a":                             "a is a folder, and would be replaced: name another file",
		"none/x":                        "there is no folder none: create it, or choose another folder",
	} {
		got, err := Resolve(name)
		if err != nil {
			got = err.Error()
		}
		if filepath.ToSlash(got) != filepath.ToSlash(want) {
			t.Errorf("Resolve(%q) = %q, want %q", name, got, want)
		}
	}
}

// If writing fails, the old file stays, and nothing else.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := Write(name, []byte("old")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	if err := WriteFrom(name, 0, func(w io.Writer) error {
		_, _ = io.WriteString(w, "new")
		return full
	}); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
	if err := Check(name); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(name); string(text) != "old" {
		t.Errorf("got %q, %v", text, err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != 1 || err != nil {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// Without a mode, a file keeps its permissions.
func TestPermissions(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	for _, mode := range []os.FileMode{0o644, 0o600} {
		if err := WriteFrom(name, 0, func(io.Writer) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(name); err != nil || info.Mode() != mode {
			t.Errorf("got mode %v, %v, want %v", info.Mode(), err, mode)
		}
		if err := os.Chmod(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
