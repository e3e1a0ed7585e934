// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReleaseVersion(t *testing.T) {
	for _, version := range []string{"", "1.2.3", "v1", "v1.2", "v1.2.3+meta", "latest"} {
		if _, err := NewRelease(t.Context(), root, version, io.Discard); err == nil || !strings.Contains(err.Error(), "v0.1.0") {
			t.Errorf("%q: the error is %v, want one that shows a valid version", version, err)
		}
	}
}

// TestReleaseClose: what Go downloads is read-only, for all but root.
func TestReleaseClose(t *testing.T) {
	temp := filepath.Join(t.TempDir(), "temp")
	dir := filepath.Join(temp, "module", "folder")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o444); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(name, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	if err := (&Release{temp: temp}).Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(temp); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", temp, err)
	}
}

// TestReleaseApply prepares a release of a copy of the repository. That a
// release can be built is checked by make release-check.
func TestReleaseApply(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("fetches the modules that ours require: make test-slow runs it")
	}
	copied := t.TempDir()
	if err := copyFiles(t.Context(), root, copied); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t.Context(), copied, nil, "git", "init", "-q"); err != nil {
		t.Fatal(err)
	}
	const version = "v0.0.2"
	release, err := NewRelease(t.Context(), copied, version, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := release.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := release.Apply(); err != nil {
		t.Fatal(err)
	}
	prepared, err := Modules(copied)
	if err != nil {
		t.Fatal(err)
	}
	required := 0
	for _, m := range prepared {
		if len(m.File.Replace) > 0 {
			t.Errorf("%s still has replace directives", m.Path)
		}
		for _, r := range m.File.Require {
			if !strings.HasPrefix(r.Mod.Path, prepared[0].Path) {
				continue
			}
			required++
			if r.Mod.Version != version {
				t.Errorf("%s requires %s, want %s", m.Path, r.Mod, version)
			}
			sums, err := os.ReadFile(filepath.Join(copied, m.Dir, "go.sum"))
			if err != nil || !strings.Contains(string(sums), r.Mod.Path+" "+version+" h1:") {
				t.Errorf("%s: go.sum lacks the checksum of %s: %v", m.Path, r.Mod, err)
			}
		}
	}
	if required == 0 {
		t.Error("no module requires another")
	}
}

// TestReleaseTags: the tags of RELEASING.md cover the modules that users get,
// and all modules that these require.
func TestReleaseTags(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "RELEASING.md"))
	if err != nil {
		t.Fatal(err)
	}
	// The command is installed, and gets the plugin by its version.
	wanted := map[string]bool{"cmd/regometer": true, "opa": true}
	all := modules(t)
	for _, m := range slices.Backward(all) { // those that require come last
		if !wanted[m.Dir] {
			continue
		}
		for _, r := range m.File.Require {
			for _, other := range all {
				if r.Mod.Path == other.Path {
					wanted[other.Dir] = true
				}
			}
		}
	}
	if len(wanted) < 4 {
		t.Errorf("only %v are required by the command and the plugin", wanted)
	}
	for dir := range wanted {
		prefix := dir + "/"
		if dir == "." {
			prefix = ""
		}
		if tag := " " + prefix + "v0.1.0"; !strings.Contains(string(text), tag) {
			t.Errorf("RELEASING.md does not push the tag%s", tag)
		}
		if dir != "." && !strings.Contains(string(text), " "+prefix+" ") && !strings.Contains(string(text), " "+prefix+";") {
			t.Errorf("RELEASING.md does not make the tag of %s", dir)
		}
	}
}
