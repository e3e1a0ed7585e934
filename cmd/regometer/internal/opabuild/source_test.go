// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A copy is writable and does not lead to files outside of it, however the
// links in the tree are made. The tree may be a link itself.
func TestCopyTree(t *testing.T) {
	from, outside := writeTree(t, opaTree()), t.TempDir()
	writeText(t, filepath.Join(from, ".git", "config"), "secret")
	writeText(t, filepath.Join(from, "docs", "node_modules", "x.js"), "big")
	writeText(t, filepath.Join(outside, "file"), "content")
	relative, err := filepath.Rel(from, filepath.Join(outside, "file"))
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"absolute": filepath.Join(outside, "file"), "relative": relative, "chain": "absolute", "self": "self", "dangling": "nothing",
		"folder": filepath.Join(from, "docs"), "docs/up": "../v1", "docs/circle": "..", "out": outside,
	} {
		if err := os.Symlink(to, filepath.Join(from, name)); err != nil {
			t.Skip(err)
		}
	}
	tree := filepath.Join(t.TempDir(), "tree")
	err = errors.Join(os.Link(filepath.Join(outside, "file"), filepath.Join(from, "hard")), os.Chmod(filepath.Join(from, "main.go"), 0o444), os.Symlink(from, tree))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := copyTree(t.Context(), to, tree, true); err != nil {
		t.Fatal(err)
	}
	a, errA := hashTree(t.Context(), tree)
	b, errB := hashTree(t.Context(), to)
	if a != b || errA != nil || errB != nil {
		t.Errorf("the copy has another hash: %v, %v", errA, errB)
	}
	for _, name := range []string{"absolute", "relative", "chain", "hard"} {
		if text, err := os.ReadFile(filepath.Join(to, name)); string(text) != "content" {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
		writeText(t, filepath.Join(to, name), "changed")
	}
	if text, _ := os.ReadFile(filepath.Join(outside, "file")); string(text) != "content" {
		t.Error("the copy leads outside")
	}
	writeText(t, filepath.Join(to, "main.go"), "")
	for _, name := range []string{"self", "dangling", "folder", "docs/up", "docs/circle", "out", ".git", "docs/node_modules"} {
		if _, err := os.Lstat(filepath.Join(to, name)); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
}

// A copy has one content, which a key in the cache identifies.
func TestSourceWrite(t *testing.T) {
	copied, from := filepath.Join(t.TempDir(), "copy"), writeTree(t, opaTree())
	if err := os.Chmod(filepath.Join(from, "main.go"), 0o544); err != nil {
		t.Fatal(err)
	}
	src, err := folderSource(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	if err := src.write(t.Context(), copied, replacement{"a/b.go": []byte("new"), "main.go": nil}, false, progress{}); err != nil {
		t.Fatal(err)
	}
	want := readTree(t, from)
	delete(want, "main.go")
	want["a/b.go"] = "-rw-r--r--\nnew"
	checkSameTree(t, copied, want)
	if err := os.Rename(filepath.Join(from, "docs/link.md"), filepath.Join(from, "docs/renamed.md")); err != nil {
		t.Fatal(err)
	}
	err = src.write(t.Context(), copied+"2", nil, false, progress{})
	checkError(t, "changed", err, "changed while it was copied")

	src.version = "v1.5.0" // a release, which cannot change
	for to, whole := range map[string]bool{copied + "3": true, copied + "4": false} {
		err = src.write(t.Context(), to, nil, whole, progress{})
		if _, is := readTree(t, to)["docs/renamed.md"]; is != whole || err != nil {
			t.Errorf("whole %v: copied what no build reads: %v; %v", whole, is, err)
		}
	}
}

func TestCheckTree(t *testing.T) {
	files := opaTree()
	files["go.mod"] = "module example.com/x\n"
	checkError(t, "other module", checkTree(writeTree(t, files)), "is not of the module")
	checkError(t, "empty", checkTree(t.TempDir()), "is not the root of an OPA source tree: ")
	checkError(t, "a file", checkTree(writeTree(t, opaTree())+"/main.go"), "is not the root of an OPA source tree: ")
	files = opaTree()
	for name := range files {
		if filepath.Dir(name) == "v1/metrics" {
			delete(files, name)
		}
	}
	checkError(t, "old", checkTree(writeTree(t, files)), "use OPA v1.0.0 or later")
}

func TestCheckRange(t *testing.T) {
	for _, c := range []struct{ version, warning, err string }{
		{OldestVersion, "", ""},
		{NewestVersion, "", ""},
		{"1.9.99", "", ""},
		{NewestVersion + "-rc1", "", ""},
		{"0.70.0", "", "too old"},
		{OldestVersion + "-rc1", "", "too old"},
		{newestMinor + ".99", "", ""},
		{"1.99.0", "newer than " + NewestRange, ""},
		{"v2.0.0", "newer", ""},
		{"1.99.0-dev", "newer", ""},
		{"banana", "invalid version", ""},
	} {
		warning, err := checkRange(c.version)
		checkError(t, c.version, err, c.err)
		if (c.warning == "") != (warning == "") || !strings.Contains(warning, c.warning) {
			t.Errorf("%s: warning %q, want %q", c.version, warning, c.warning)
		}
	}
}

func TestFindSource(t *testing.T) {
	dir := writeTree(t, opaTree())
	for _, c := range []struct{ opa, version, dir, err string }{
		{"", NewestVersion, "", ""},
		{"1.4.0", "v1.4.0", "", ""},
		{"v1.4.0", "v1.4.0", "", ""},
		{dir, "", dir, ""},
		{"0.68.0", "", "", "too old"},
		{"./no-such-folder", "", "", "no-such-folder"},
		{dir + "/v1", "", "", "not the root"},
	} {
		s, err := findSource(t.Context(), c.opa)
		checkError(t, c.opa, err, c.err)
		if err == nil && (s.version != c.version || s.dir != c.dir) {
			t.Errorf("%q: got %+v", c.opa, s)
		}
	}
}
