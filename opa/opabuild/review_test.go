// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nextMinorVersion is that of an OPA that nobody has tested.
func nextMinorVersion() string {
	v, _ := parseVersion(NewestVersion)
	return fmt.Sprintf("%d.%d.0", v[0], v[1]+1)
}

func TestReview(t *testing.T) {
	files := runtimeTree()
	maps.Copy(files, map[string]string{
		"v1/metrics/sample.go":  sampleText,
		"v1/version/version.go": fixtureTree()["v1/version/version.go"],
	})
	steps := mustLoad(t, fixtureSteps(), files)
	d := tinyDropIn("x")
	d["unused.go"] = []byte("package metrics\n\nfunc Unused() {}\n")
	check := func(name string, d dropIn, files map[string]string, known bool, want ...string) {
		t.Helper()
		dir := writeTree(t, files)
		before := readTree(t, dir)
		r, err := review(t.Context(), dir, d, steps)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Known != known || len(r.Findings) != len(want) {
			t.Errorf("%s: got %+v, want known: %t, and %d findings", name, r, known, len(want))
			return
		}
		for i, f := range r.Findings {
			if !strings.Contains(f, want[i]) {
				t.Errorf("%s: found %q, want one with %q", name, f, want[i])
			}
		}
		checkSameTree(t, dir, before)
	}
	with := func(changes ...string) map[string]string { // file, old, new
		changed := maps.Clone(files)
		for i := 0; i < len(changes); i += 3 {
			if !strings.Contains(changed[changes[i]], changes[i+1]) {
				t.Fatalf("%s has no %q", changes[i], changes[i+1])
			}
			changed[changes[i]] = strings.Replace(changed[changes[i]], changes[i+1], changes[i+2], 1)
		}
		return changed
	}
	check("the series' own", d, files, true)
	check("older", d, with("v1/version/version.go", UpstreamVersion[1:], OldestVersion[1:]), true)
	check("a patch release", d, with("v1/version/version.go", UpstreamVersion[1:], UpstreamVersion[1:]+"9"), true)
	check("a minor release", d, with("v1/version/version.go", UpstreamVersion[1:], nextMinorVersion()), false)
	check("a new name", tinyDropIn("x"), files, true, "v1/metrics exports Unused")
	check("all at once", tinyDropIn("x"), with(
		"internal/user/user.go", "r := ", "metrics.Unused()\n\tr := ",
		"v1/runtime/runtime.go", "plugin == nil", "plugin == nil || rt.done",
		"v1/metrics/sample.go", `return "OPA"`, `return "Opa"`,
	), true, "the drop-in lacks metrics.Unused, needed at internal/user/user.go", "exports Unused",
		"the decision hook does not fit: v1/runtime/runtime.go", "the series for OPA does not apply: ")
	_, err := review(t.Context(), writeTree(t, with("v1/version/version.go", UpstreamVersion[1:], "0.68.0")), d, steps)
	checkError(t, "too old", err, "too old")
}

// The release that the series is for fits, and nothing is left behind.
func TestReviewOPA(t *testing.T) {
	if os.Getenv("REGOMETER_SLOW_TESTS") == "" {
		t.Skip("fetches OPA: make test-slow runs it")
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	r, err := ReviewOPA(t.Context(), UpstreamVersion)
	if err != nil {
		t.Fatal(err)
	}
	if r.OPA != UpstreamVersion || !r.Known || len(r.Findings) > 0 {
		t.Errorf("got %+v", r)
	}
	if left, err := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 || err != nil {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestNewest(t *testing.T) {
	got, err := newest([]string{"v0.70.0", "v1.9.3", "v1.10.0", "v1.11.0-rc.1", "v1.10.0-rc.1", "banana"})
	if got != "v1.10.0" || err != nil {
		t.Errorf("newest = %q, %v", got, err)
	}
	_, err = newest([]string{"v1.0.0-rc.1"})
	checkError(t, "none", err, "lists no release")
}
