// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Nothing but a file gives way to a file.
func TestWriteOutput(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // the path of a socket is short
	writeText(t, "file", "old")
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
	irregular := map[string]string{"tofolder": "is a folder", "dangling": "link to nothing, which is not there", "socket": "is a socket"}
	for name, kind := range makeIrregular(t) {
		irregular[name] = kind
	}
	for name, want := range irregular {
		before, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		checkError(t, name, writeOutput(name, []byte("new")), want)
		if after, err := os.Lstat(name); err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() {
			t.Errorf("%s became %v, %v", name, after, err)
		}
	}
	// Through a chain of links the file changes, and they stay.
	if err := writeOutput("link", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := writeOutput("another", []byte("new")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "file", "another"} {
		if text, err := os.ReadFile(name); string(text) != "new" {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"link", "chain"} {
		if _, err := os.Readlink(name); err != nil {
			t.Errorf("%s is no link any more: %v", name, err)
		}
	}
}
