// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"go/format"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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

// The files that come into OPA are as gofmt would have them.
func TestTemplates(t *testing.T) {
	t.Parallel()
	for _, hook := range []bool{false, true} {
		dir := t.TempDir()
		r := record{Regometer: "v0.1.0", OPA: "1.5.0", DropIn: strings.Repeat("0f", 32), Plugin: true, Hook: hook}
		for _, name := range []string{buildFile, pluginFile} {
			if err := r.writeTemplate(dir, name); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, name))
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

func TestInspect(t *testing.T) {
	t.Setenv("REGOMETER_CACHE", t.TempDir())
	tree := writeTree(t, opaTree())
	d := tinyDropIn("A")
	path, _ := mustBuild(t, Options{OPA: tree}, d)
	if got, want := inspect(t, path), (Binary{OPA: "1.5.0", Regometer: "(devel)", DropIn: d.hash()}); got != want {
		t.Errorf("with the drop-in: %+v, want %+v", got, want)
	}
	path, _ = mustBuild(t, Options{OPA: tree}, nil)
	if got := inspect(t, path); got != (Binary{}) {
		t.Errorf("as it is: %+v", got)
	}
	// As of a tree that was patched and built by hand: the drop-in's file, and
	// no record.
	d["collection.go"] = slices.Concat(d["clock.go"], []byte("\nvar begun int\n\nfunc init() { begun++ }\n"))
	delete(d, "clock.go")
	for name, text := range d {
		writeText(t, filepath.Join(tree, "v1/metrics", name), string(text))
	}
	for _, name := range []string{"sample.go", "sample_test.go"} {
		if err := os.Remove(filepath.Join(tree, "v1/metrics", name)); err != nil {
			t.Fatal(err)
		}
	}
	path, _ = mustBuild(t, Options{OPA: tree}, nil)
	if got := inspect(t, path); got != (Binary{DropIn: Unknown}) {
		t.Errorf("patched by hand: %+v", got)
	}
	real, err := loadDropIn()
	if err != nil || real[filepath.Base(dropInFile)] == nil {
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
		{dir, "is no opa binary: it is no regular file"},
		{os.DevNull, "is no opa binary: it is no regular file"},
		{filepath.Join(dir, "text"), "is no opa binary, as Go builds it: "},
		{filepath.Join(dir, "empty"), "is no opa binary, as Go builds it: "},
		{self, "is no opa binary, and has no OPA inside: it is built from "},
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
	tree, ours := writeTree(t, runtimeTree()), writeTree(t, tinyPlugin("P"))
	for _, platform := range []string{"windows/amd64", "darwin/arm64", "linux/386", "linux/s390x"} {
		goos, goarch, _ := strings.Cut(platform, "/")
		t.Setenv("GOOS", goos)
		t.Setenv("GOARCH", goarch)
		path, err := buildWith(t.Context(), Options{OPA: tree}, eachDropIn("A"), mustFindPlugin(t, ours))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Inspect(path)
		if err != nil {
			t.Fatal(err)
		}
		want := Binary{OPA: "1.5.0", Regometer: "(devel)", DropIn: eachDropIn("A").hash(), Plugin: true, Hook: true, Go: runtime.Version(), Platform: platform}
		if *got != want {
			t.Errorf("%s: %+v, want %+v", platform, *got, want)
		}
	}
}
