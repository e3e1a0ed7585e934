// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCopyTree(t *testing.T) {
	from := writeTree(t, opaTree())
	writeText(t, filepath.Join(from, ".git", "config"), "secret")
	writeText(t, filepath.Join(from, "docs", "node_modules", "x.js"), "big")
	if err := os.Chmod(filepath.Join(from, "main.go"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("link.md", filepath.Join(from, "docs", "symlink.md")); err != nil {
		t.Skip(err)
	}
	to := t.TempDir()
	if err := copyTree(t.Context(), to, from); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "docs", "symlink.md")); string(text) != "x" {
		t.Errorf("the symbolic link became %q, %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(to, "main.go")); err != nil || info.Mode().Perm()&0o600 != 0o600 {
		t.Errorf("a read-only file was copied as %v, %v", info.Mode(), err)
	}
	got := readTree(t, to)
	if len(got) != len(opaTree())+1 {
		t.Errorf("copied %q", slices.Sorted(maps.Keys(got)))
	}
}

// A copy does not lead to what lies outside of it, however the links in the
// tree are made, and the tree may be a link itself.
func TestCopyLinks(t *testing.T) {
	from, outside := writeTree(t, opaTree()), t.TempDir()
	writeText(t, filepath.Join(outside, "file"), "content")
	link := func(to, name string) {
		t.Helper()
		_ = os.Remove(filepath.Join(from, name))
		if err := os.Symlink(to, filepath.Join(from, name)); err != nil {
			t.Skip(err)
		}
	}
	relative, err := filepath.Rel(from, filepath.Join(outside, "file"))
	if err != nil {
		t.Fatal(err)
	}
	link(filepath.Join(outside, "file"), "absolute")
	link(relative, "relative")
	link("absolute", "chain")
	link(filepath.Join(from, "docs"), "folder")
	link("../v1", "docs/up")
	link("..", "docs/circle")
	link("self", "self")
	link("nothing", "dangling")
	if err := os.Link(filepath.Join(outside, "file"), filepath.Join(from, "hard")); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.Symlink(from, tree); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := copyTree(t.Context(), to, tree); err != nil {
		t.Fatal(err)
	}
	a, errA := hashTree(t.Context(), tree, sha256.New)
	b, errB := hashTree(t.Context(), to, sha256.New)
	if a != b || errA != nil || errB != nil {
		t.Errorf("the copy has another hash: %v, %v", errA, errB)
	}
	for _, name := range []string{"absolute", "relative", "chain", "hard"} {
		file := filepath.Join(to, name)
		if text, err := os.ReadFile(file); string(text) != "content" {
			t.Errorf("%s holds %q, %v", name, text, err)
		}
		writeText(t, file, "changed")
	}
	if text, _ := os.ReadFile(filepath.Join(outside, "file")); string(text) != "content" {
		t.Error("the copy leads outside")
	}
	writeText(t, filepath.Join(to, "folder", "up", "metrics", "new.go"), "")
	if _, err := os.Stat(filepath.Join(to, "v1", "metrics", "new.go")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"self", "dangling"} {
		if _, err := os.Lstat(filepath.Join(to, name)); err == nil {
			t.Errorf("%s was copied", name)
		}
	}

	link(outside, "out")
	checkError(t, "hash", func() error { _, err := hashTree(t.Context(), tree, sha256.New); return err }(), "out is a link to the folder")
	checkError(t, "copy", copyTree(t.Context(), t.TempDir(), tree), "out is a link to the folder")
}

// A key in the cache never stands for other content.
func TestSourceCopy(t *testing.T) {
	c, from := cache{t.TempDir()}, writeTree(t, opaTree())
	if err := os.Chmod(filepath.Join(from, "main.go"), 0o544); err != nil {
		t.Fatal(err)
	}
	src, err := folderSource(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := src.copy(t.Context(), c, replacement{"a/b.go": []byte("new"), "main.go": nil}, "", progress{})
	if err != nil {
		t.Fatal(err)
	}
	want := readTree(t, from)
	delete(want, "main.go")
	want["a/b.go"] = "-rw-r--r--\nnew"
	checkSameTree(t, copied, want)
	other, err := src.copy(t.Context(), c, nil, "", progress{})
	if err != nil || other == copied {
		t.Errorf("another change is in %s, %v", other, err)
	}
	writeText(t, filepath.Join(from, "docs/link.md"), "changed")
	_, err = src.copy(t.Context(), c, nil, "verify", progress{})
	checkError(t, "changed", err, "changed while it was copied")
}

func TestHashTree(t *testing.T) {
	hash := func(change func(dir string)) string {
		t.Helper()
		dir := writeTree(t, opaTree())
		change(dir)
		h, err := hashTree(t.Context(), dir, sha256.New)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	base := hash(func(string) {})
	if h := hash(func(dir string) { writeText(t, filepath.Join(dir, ".git/x"), "x") }); h != base {
		t.Error("the Git folder counts")
	}
	for name, change := range map[string]func(dir string){
		"new file": func(dir string) { writeText(t, filepath.Join(dir, "x"), "") },
		"content":  func(dir string) { writeText(t, filepath.Join(dir, "main.go"), "") },
		"renamed": func(dir string) {
			if err := os.Rename(filepath.Join(dir, "main.go"), filepath.Join(dir, "main2.go")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		if hash(change) == base {
			t.Errorf("%s: the hash is the same", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hashTree(ctx, writeTree(t, opaTree()), sha256.New); err == nil {
		t.Error("not cancelled")
	}
}

func TestCheckTree(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"other module", "go.mod", "module example.com/x\n", "not that of module"},
		{"replacement in the tree", "go.mod", "module github.com/open-policy-agent/opa\n// x => ../y\nreplace a.b/c => ./c\n", ""},
		{"replacement by version", "go.mod", "module github.com/open-policy-agent/opa\nreplace (\n\ta.b/c v1.0.0 => d.e/f v1.2.3\n)\n", ""},
		{"replacement beside it", "go.mod", "module github.com/open-policy-agent/opa\nreplace a.b/c => ../c\n", "../c"},
		{"replacement in a list", "go.mod", "module github.com/open-policy-agent/opa\nreplace (\n\ta.b/c v1.0.0 => /src/c\n)\n", "/src/c"},
	} {
		files := opaTree()
		files[c.file] = c.text
		dir := writeTree(t, files)
		err := checkTree(dir)
		if err == nil {
			err = checkCopyable(dir)
		}
		checkError(t, c.name, err, c.want)
	}
	checkError(t, "empty", checkTree(t.TempDir()), "no go.mod")
	missing := filepath.Join(t.TempDir(), "missing")
	checkError(t, "missing", checkTree(missing), "there is no folder "+missing)
	writeText(t, missing, "")
	checkError(t, "a file", checkTree(missing), missing+" is not a folder")
	files := opaTree()
	for name := range files {
		if filepath.Dir(name) == "v1/metrics" {
			delete(files, name)
		}
	}
	checkError(t, "old", checkTree(writeTree(t, files)), "has since v1.0.0")
}
func TestCheckRange(t *testing.T) {
	newest, _ := parseVersion(NewestVersion)
	nextPatch := fmt.Sprintf("%d.%d.%d", newest[0], newest[1], newest[2]+1)
	nextMinor := fmt.Sprintf("%d.%d.0", newest[0], newest[1]+1)
	for _, c := range []struct{ version, warning, err string }{
		{OldestVersion, "", ""},
		{NewestVersion, "", ""},
		{"1.9.99", "", ""},
		{NewestVersion + "-rc1", "", ""},
		{"0.70.0", "", "too old"},
		{OldestVersion + "-rc1", "", "too old"},
		{nextPatch, "", ""},
		{nextMinor, "newer than " + NewestRange, ""},
		{"v2.0.0", "newer", ""},
		{nextMinor + "-dev", "newer", ""},
		{"banana", "invalid version", ""},
	} {
		warning, err := checkRange(c.version)
		checkError(t, c.version, err, c.err)
		if (c.warning == "") != (warning == "") || !strings.Contains(warning, c.warning) {
			t.Errorf("%s: warning %q, want %q", c.version, warning, c.warning)
		}
	}
}

func TestTreeVersion(t *testing.T) {
	dir := writeTree(t, opaTree())
	if v, err := treeVersion(dir); v != "1.5.0" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
	writeText(t, dir+"/v1/version/version.go", "package version\n")
	_, err := treeVersion(dir)
	checkError(t, "no variable", err, "no variable Version")
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
		{dir + "/main.go", "", "", "not a folder"},
		{dir + "/v1", "", "", "not the root"},
	} {
		s, err := findSource(t.Context(), c.opa)
		checkError(t, c.opa, err, c.err)
		if err == nil && (s.version != c.version || s.dir != c.dir) {
			t.Errorf("%q: got %+v", c.opa, s)
		}
	}
}
