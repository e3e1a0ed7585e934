// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package project checks the rules that the repository keeps: its modules and
// their requirements, its documents, and a release.
package project

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/regometer/regometer/bench/internal/measure"
)

const (
	root = "../.."
	// files is the root by a link in this module: the go command runs a test
	// again if a file changes that it reads there, and not elsewhere.
	files   = "../testdata/root"
	own     = "github.com/regometer/regometer"
	opaPath = "github.com/open-policy-agent/opa"
)

// outside are the folders of modules that go.work does not list. They serve the
// tests alone, and are not released.
var outside = []string{
	"e2e",          // needs newer dependencies than OPA: the workspace would move OPA's
	"e2e/extauthz", // has OPA inside, which needs a newer glob than the Collector in e2e
}

// mustRun returns the standard output of a program in the repository's root.
func mustRun(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := measure.Run(t.Context(), io.Discard, root, nil, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// read returns the text of a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(files, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// texts returns the texts of the repository's files whose name matches one of
// git's patterns, except those in testdata.
func texts(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	args := append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--"}, patterns...)
	found := map[string]string{}
	for _, name := range strings.Split(mustRun(t, "git", args...), "\x00") {
		text, err := os.ReadFile(filepath.Join(files, name))
		if name != "" && !strings.Contains(name, "testdata/") && !os.IsNotExist(err) {
			found[name] = string(text)
		}
	}
	if len(found) == 0 {
		t.Fatalf("the repository has no file %q", patterns)
	}
	return found
}

// supported returns the oldest and the newest OPA that regometer build supports.
func supported(t *testing.T) (oldest, newest string) {
	t.Helper()
	source := read(t, "cmd/regometer/internal/opabuild/version.go")
	found := regexp.MustCompile(`\b(?:Oldest|Newest)Version += "(\S+)"`).FindAllStringSubmatch(source, -1)
	if len(found) != 2 {
		t.Fatalf("opabuild names the versions %q, not the oldest and the newest", found)
	}
	return found[0][1], found[1][1]
}

// opaLimits returns what this OPA requires: its go line, and the version of each
// dependency and of itself.
func opaLimits(t *testing.T, newest string) (goVersion string, versions map[string]string) {
	t.Helper()
	gomod := mustRun(t, "go", "list", "-C", "bench", "-m", "-f", "{{.GoMod}}", opaPath+"@"+newest)
	text, err := os.ReadFile(strings.TrimSpace(gomod))
	if err != nil {
		t.Fatal(err)
	}
	opa, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions = map[string]string{opaPath: newest}
	for _, r := range opa.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	return opa.Go.Version, versions
}

// TestModules checks the go.mod files of all modules. A module that neither
// go.work nor the list outside names would be neither tested nor released.
func TestModules(t *testing.T) {
	work, err := modfile.ParseWork("go.work", []byte(read(t, "go.work")), nil)
	if err != nil {
		t.Fatal(err)
	}
	released := map[string]bool{} // by path
	for _, use := range work.Use {
		released[path.Join(own, use.Path)] = true
	}
	oldest, newest := supported(t)
	goVersion, limits := opaLimits(t, newest)
	for name, text := range texts(t, "go.mod", "*/go.mod") {
		file, err := modfile.Parse(name, []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		dir, isOutside := path.Dir(name), slices.Contains(outside, path.Dir(name))
		if want := path.Join(own, dir); file.Module.Mod.Path != want || released[want] == isOutside {
			t.Errorf("%s: the module is %s, want %s, either in go.work or in the list outside", name, file.Module.Mod.Path, want)
		}
		// Importing the core must not move an importer's versions.
		if dir == "." && len(file.Require)+len(file.Replace)+len(file.Tool) > 0 {
			t.Errorf("%s has require, replace or tool directives", name)
		}
		// A program with the newest OPA must get the same versions with our
		// modules as without them.
		if !isOutside && semver.Compare("v"+file.Go.Version, "v"+goVersion) > 0 {
			t.Errorf("%s: go %s is above OPA's go %s", name, file.Go.Version, goVersion)
		}
		for _, r := range file.Require {
			if limits[r.Mod.Path] != "" && semver.Compare(r.Mod.Version, limits[r.Mod.Path]) > 0 && !isOutside {
				t.Errorf("%s requires %s, newer than the %s of OPA %s", name, r.Mod, limits[r.Mod.Path], newest)
			}
			// Programs that import the module opa keep their own OPA.
			want := newest
			if dir == "opa" {
				want = oldest
			}
			if r.Mod.Path == opaPath && r.Mod.Version != want {
				t.Errorf("%s requires OPA %s, want %s: run cd %s && GOWORK=off go get %s@%[3]s", name, r.Mod.Version, want, dir, opaPath)
			}
		}
	}
}
