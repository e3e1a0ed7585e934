// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/bench/internal/measure"
)

// TestReleaseApply prepares a release of a copy of the repository. make
// release-check builds a release.
func TestReleaseApply(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("fetches the modules that ours require: make test-slow runs it")
	}
	copied := filepath.Join(t.TempDir(), "copied")
	if err := Copy(t.Context(), root, copied); err != nil {
		t.Fatal(err)
	}
	if _, err := measure.Run(t.Context(), io.Discard, copied, nil, "git", "init", "-q"); err != nil {
		t.Fatal(err)
	}
	const version = "v0.0.2"
	r, err := NewRelease(t.Context(), copied, version, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Apply()
	if failed := r.Close(); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	if _, err := os.Stat(r.temp); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", r.temp, err)
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
		for _, q := range m.File.Require {
			if !strings.HasPrefix(q.Mod.Path, own) {
				continue
			}
			required++
			sums, err := os.ReadFile(filepath.Join(copied, m.Dir, "go.sum"))
			if q.Mod.Version != version || err != nil || !strings.Contains(string(sums), q.Mod.Path+" "+version+" h1:") {
				t.Errorf("%s requires %s, want %s with its checksum in go.sum: %v", m.Path, q.Mod, version, err)
			}
		}
	}
	if required == 0 {
		t.Error("no module requires another")
	}
}

// TestReleaseTags: the tags in RELEASING.md are those of the modules that users
// get, the command and the plugin, and of all modules that these require.
func TestReleaseTags(t *testing.T) {
	modules, err := Modules(root)
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{own + "/cmd/regometer": true, own + "/opa": true}
	text := read(t, "RELEASING.md")
	for _, m := range slices.Backward(modules) { // those that others require come first
		if !wanted[m.Path] {
			continue
		}
		for _, r := range m.File.Require {
			wanted[r.Mod.Path] = true
		}
		for _, want := range []string{" " + m.Dir + "/", " " + m.Dir + "/v0.1.0"} {
			if m.Dir == "." {
				want = " v0.1.0"
			}
			if !regexp.MustCompile(want + `[ ;\n]`).MatchString(text) {
				t.Errorf("RELEASING.md does not make or push the tag of %s", m.Path)
			}
		}
	}
}
