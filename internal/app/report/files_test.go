// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t testing.TB, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// A file is read once, however it is named.
func TestFindFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(names ...string) (paths []string) {
		for _, name := range names {
			if name != standardInput {
				name = filepath.Join(dir, name)
			}
			paths = append(paths, name)
		}
		return paths
	}
	write(t, in("a.log")[0], "1")
	write(t, in("b.log")[0], "2") // of the same size, and another file
	write(t, in("sub/c.log")[0], "3")
	write(t, in("sub/c.log.truth.json")[0], "4")
	write(t, in(".hidden/d.log")[0], "4")
	write(t, in("sub/.e.log")[0], "5")
	for link, target := range map[string]string{
		"sub/to-a": "../a.log", "z": "a.log", "nowhere": "missing", "folder": "sub", "loop": "loop", "sub/up": "..",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Link(in("b.log")[0], in("hard")[0]); err != nil {
		t.Skip(err)
	}
	for _, test := range []struct {
		inputs, want []string
	}{
		{in("a.log", "a.log", "b.log"), in("a.log", "b.log")},
		{in("b.log", "a.log"), in("a.log", "b.log")},
		{in("z", "a.log"), in("a.log")},
		{in("hard"), in("hard")},
		{in("."), in("a.log", "b.log", "sub/c.log")},
		{in("sub"), in("sub/c.log", "sub/to-a")},
		{in("folder"), in("folder/c.log", "folder/to-a")},
		{in("*.log", "sub"), in("a.log", "b.log", "sub/c.log")},
		{in("s*"), in("sub/c.log", "sub/to-a")},
		{in(standardInput, "a.log", standardInput), in("a.log", standardInput)},
		{in(standardInput), in(standardInput)},
	} {
		if got, err := InputFiles(test.inputs); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%v: got %v, %v, want %v", test.inputs, got, err, test.want)
		}
	}
	for _, test := range []struct {
		inputs []string
		want   string
	}{
		{in("missing"), "missing: no such file"},
		{in("*.gz"), "*.gz: no file matches"},
		{in("nowhere"), "nowhere: no such file"},
		{in("["), "syntax error in pattern"},
	} {
		if _, err := InputFiles(test.inputs); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got error %v, want one with %q", test.inputs, err, test.want)
		}
	}
	empty := t.TempDir()
	if _, err := InputFiles([]string{empty}); err == nil || !strings.Contains(err.Error(), "there is no file in "+empty) {
		t.Errorf("an empty folder: got error %v", err)
	}
}

func TestFindFilesHere(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.log", "1")
	write(t, filepath.Join("sub", "b.log"), "2")
	files, err := InputFiles([]string{"."})
	if err != nil || !slices.Equal(files, []string{"a.log", filepath.Join("sub", "b.log")}) {
		t.Errorf("got %v, %v", files, err)
	}
}
