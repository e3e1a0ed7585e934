// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
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

func inputNames(inputs []string) (names []string, err error) {
	files, err := InputFiles(inputs)
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names, err
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
		{in("."), in("a.log", "b.log", "loop", "nowhere", "sub/c.log")},
		{in("sub"), in("sub/c.log", "sub/to-a")},
		{in("folder"), in("folder/c.log", "folder/to-a")},
		{in(standardInput, "a.log", standardInput), in("a.log", standardInput)},
		{in(standardInput), in(standardInput)},
	} {
		if got, err := inputNames(test.inputs); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%v: got %v, %v, want %v", test.inputs, got, err, test.want)
		}
	}
	for _, test := range []struct {
		inputs []string
		want   string
	}{
		{in("missing"), "missing: no such file"},
		{in("nowhere"), "nowhere: no such file"},
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
	files, err := inputNames([]string{"."})
	if err != nil || !slices.Equal(files, []string{"a.log", filepath.Join("sub", "b.log")}) {
		t.Errorf("got %v, %v", files, err)
	}
}

// Small files, of which a worker gets several at a time, have the same report
// as other files.
func TestSmallFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const files = 202
	var want []string
	for i := range files {
		name, text := filepath.Join(dir, fmt.Sprintf("%03d.log", i)), eventLine
		switch {
		case i%50 == 0:
			text = "text"
			want = append(want, fmt.Sprintf("no_decision_log %s:1", name))
		case i%50 == 1:
			text = string(gzipped(eventLine, eventLine))
		}
		write(t, name, text)
	}
	in := readAll(t, Options{Inputs: []string{dir}}).Report().Inputs
	if got := problemsOf(&in); in.Decisions != files || !slices.Equal(got, want) {
		t.Errorf("got %d decisions, problems %q, want %d, %q", in.Decisions, got, files, want)
	}
}

// A file that becomes shorter before it is read has a problem that says so, and
// so has a compressed one.
func TestFileShrinks(t *testing.T) {
	t.Parallel()
	large := strings.Repeat(eventLine, int(2*leastPart)/len(eventLine)+1000)
	for what, test := range map[string]struct {
		text string
		left int64
		want []string
	}{
		"small, to nothing": {eventLine, 0, []string{"shortened FILE:1"}},
		"small":             {eventLine + eventLine, int64(len(eventLine)), []string{"shortened FILE:1"}},
		"large, to nothing": {large, 0, []string{"shortened FILE:1"}},
		"large":             {large, int64(10 * len(eventLine)), []string{"shortened FILE:10"}},
		"gzip":              {string(gzipped(eventLine, eventLine)), int64(len(gzipped(eventLine))), []string{"shortened FILE:1"}},
		"zstd":              {string(append(zstandard(eventLine), zstandard(eventLine)...)), int64(len(zstandard(eventLine))), []string{"shortened FILE:1"}},
	} {
		name := write(t, filepath.Join(t.TempDir(), "log"), test.text)
		files, err := InputFiles([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, test.left); err != nil {
			t.Fatal(err)
		}
		x, err := ReadFiles(t.Context(), Options{Inputs: []string{name}}, files)
		if err != nil {
			t.Fatal(err)
		}
		if got := problemsOf(withoutName(&x.Report().Inputs, name)); !slices.Equal(got, test.want) {
			t.Errorf("%s: got problems %q, want %q", what, got, test.want)
		}
	}
}
