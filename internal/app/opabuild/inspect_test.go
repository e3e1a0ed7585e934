// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"go/format"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func mustText(t *testing.T, r record) string {
	t.Helper()
	text, err := r.Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFindRecord(t *testing.T) {
	t.Parallel()
	want := record{Regometer: "v0.1.0", OPA: "1.5.0-\"x\"<\n>", DropIn: strings.Repeat("0f", 32), Plugin: true}
	text := mustText(t, want)
	for _, c := range []struct {
		name, binary string
		found        bool
	}{
		{"nothing", "", false},
		{"alone", text, true},
		{"inside", "\x00" + text + "\x00", true},
		{"after a mark", recordMark + "other string" + recordMark + recordMark + text, true},
		{"after one that is none", recordMark + "{}\n" + text, true},
		{"cut short", text[:len(text)-1], false},
		{"no end", strings.TrimSuffix(text, "\n") + strings.Repeat(" ", 10000) + "\n", false},
		{"no JSON", recordMark + "{{.Text}}\n", false},
		{"no hash", recordMark + `{"opa":"1.5.0","dropIn":"0f"}` + "\n", false},
		{"no OPA", strings.Replace(text, `"opa"`, `"x"`, 1), false},
		{"of a later release", strings.Replace(text, "{", `{"more":[1],`, 1), true},
		{"another form", strings.Replace(text, " 1: ", " 2: ", 1), false},
	} {
		got := findRecord([]byte(c.binary))
		if (got != nil) != c.found || got != nil && *got != want {
			t.Errorf("%s: got %+v", c.name, got)
		}
	}
}

// What this program says of records is none.
func TestFindRecordInItself(t *testing.T) {
	t.Parallel()
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(recordMark)) {
		t.Error("the test does not test what it should")
	}
	if r := findRecord(text); r != nil {
		t.Errorf("found %+v", r)
	}
}

// The files that come into OPA are formatted as gofmt does.
func TestTemplates(t *testing.T) {
	t.Parallel()
	for _, hook := range []bool{false, true} {
		r := record{Regometer: "v0.1.0", OPA: "1.5.0", DropIn: strings.Repeat("0f", 32), Plugin: true, Hook: hook}
		for _, name := range []string{buildFile, pluginFile} {
			text, err := r.file(name)
			if err != nil {
				t.Fatal(err)
			}
			if want, err := format.Source(text); err != nil || !bytes.Equal(text, want) {
				t.Errorf("%v, %s is\n%s\nshould be\n%s", err, name, text, want)
			}
			if !bytes.HasPrefix(text, []byte("// Copyright 2026 The Regometer Authors\n// SPDX-License-Identifier: Apache-2.0\n\n")) {
				t.Errorf("%s has no licence header", name)
			}
		}
	}
}

// The drop-in has the file by which it is found in a binary.
func TestDropInFile(t *testing.T) {
	d, err := loadDropIn()
	if err != nil || d[filepath.Base(dropInFile)] == nil {
		t.Errorf("the drop-in has no file %s: %v", dropInFile, err)
	}
}

func TestInspectRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "text"), "#!/bin/sh\n"+mustText(t, record{OPA: "1.5.0", DropIn: strings.Repeat("0f", 32)}))
	writeText(t, filepath.Join(dir, "empty"), "")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, want string }{
		{filepath.Join(dir, "missing"), "missing"},
		{dir, "is not an opa binary: it is not a regular file"},
		{os.DevNull, "is not an opa binary: it is not a regular file"},
		{filepath.Join(dir, "text"), "is not an opa binary that Go has built: "},
		{filepath.Join(dir, "empty"), "is not an opa binary that Go has built: "},
		{self, "is not an opa binary and has no OPA inside: it is built from "},
	} {
		_, err := Inspect(c.file)
		checkError(t, c.file, err, c.want)
	}
}

// Binaries for other systems tell the same.
func TestInspectOtherSystems(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("compiles the standard library for other systems: make test-slow")
	}
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	tree, ours := writeTree(t, opaTree()), writeTree(t, tinyPlugin("P"))
	for _, platform := range []string{"windows/amd64", "darwin/arm64", "linux/386", "linux/s390x"} {
		goos, goarch, _ := strings.Cut(platform, "/")
		t.Setenv("GOOS", goos)
		t.Setenv("GOARCH", goarch)
		path, err := buildWith(t.Context(), Options{OPA: tree}, parts{dropIn: fakeDropIn("A"), plugin: mustFindPlugin(t, ours)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Inspect(path)
		if err != nil {
			t.Fatal(err)
		}
		want := Binary{OPA: "1.5.0", Regometer: "(devel)", DropIn: fakeDropIn("A").hash(), Plugin: true, Hook: true, Go: runtime.Version(), Platform: platform}
		if *got != want {
			t.Errorf("%s: %+v, want %+v", platform, *got, want)
		}
	}
}
