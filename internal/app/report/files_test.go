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

func write(t *testing.T, name, text string) string {
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
		stdin        bool
	}{
		{in("a.log", "a.log", "b.log"), in("a.log", "b.log"), false},
		{in("b.log", "a.log"), in("a.log", "b.log"), false},
		{in("z", "a.log"), in("a.log"), false},
		{in("hard"), in("hard"), false},
		{in("."), in("a.log", "b.log", "sub/c.log"), false},
		{in("sub"), in("sub/c.log", "sub/to-a"), false},
		{in("folder"), in("folder/c.log", "folder/to-a"), false},
		{in("*.log", "sub"), in("a.log", "b.log", "sub/c.log"), false},
		{in("s*"), in("sub/c.log", "sub/to-a"), false},
		{in(standardInput, "a.log", standardInput), in("a.log"), true},
		{in(standardInput), nil, true},
	} {
		files, stdin, err := findFiles(test.inputs)
		if err != nil {
			t.Errorf("%v: %v", test.inputs, err)
			continue
		}
		var names []string
		for _, f := range files {
			names = append(names, f.name)
		}
		if !slices.Equal(names, test.want) || stdin != test.stdin {
			t.Errorf("%v: got %v, standard input %v; want %v, %v", test.inputs, names, stdin, test.want, test.stdin)
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
		if _, _, err := findFiles(test.inputs); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got error %v, want one with %q", test.inputs, err, test.want)
		}
	}
	empty := t.TempDir()
	if _, _, err := findFiles([]string{empty}); err == nil || !strings.Contains(err.Error(), "there is no file in "+empty) {
		t.Errorf("an empty folder: got error %v", err)
	}
}

func TestFindFilesHere(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a.log", "1")
	write(t, filepath.Join("sub", "b.log"), "2")
	files, _, err := findFiles([]string{"."})
	if err != nil || len(files) != 2 || files[0].name != "a.log" || files[1].name != filepath.Join("sub", "b.log") {
		t.Errorf("got %v, %v", files, err)
	}
}
