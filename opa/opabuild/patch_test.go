// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// summary returns changes and notes as text.
func summary(r PatchResult) string {
	var lines []string
	for _, c := range r.Changes {
		lines = append(lines, c.Action+" "+filepath.ToSlash(c.Path))
	}
	return strings.Join(append(lines, r.Notes...), "; ")
}

func mustPatch(t *testing.T, dir string, dryRun bool, d dropIn, want string) {
	t.Helper()
	r, err := patch(t.Context(), dir, dryRun, d)
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(r); got != want {
		t.Errorf("patch: %s\nwant:  %s", got, want)
	}
}

func mustRevert(t *testing.T, dir string, dryRun bool, want string) {
	t.Helper()
	r, err := revert(dir, dryRun, tinyDropIn("A"))
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(r); got != want {
		t.Errorf("revert: %s\nwant:   %s", got, want)
	}
}

const (
	allPatched  = "add v1/metrics/clock.go; replace v1/metrics/metrics.go; remove v1/metrics/sample.go; remove v1/metrics/sample_test.go"
	allReverted = "remove v1/metrics/clock.go; restore v1/metrics/metrics.go; restore v1/metrics/sample.go; restore v1/metrics/sample_test.go"
)

// There and back, in each kind of tree, with odd modes and an empty file.
func TestPatchRevert(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(dir string)
		record string
	}{
		{"folder", func(string) {}, ".regometer-patch.json"},
		{"checkout", func(dir string) { writeText(t, filepath.Join(dir, ".git", "HEAD"), "x") }, ".git/regometer-patch.json"},
		{"worktree", func(dir string) {
			writeText(t, filepath.Join(dir, ".git"), "gitdir: docs/elsewhere\n")
			writeText(t, filepath.Join(dir, "docs", "elsewhere", "HEAD"), "x")
		}, "docs/elsewhere/regometer-patch.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeTree(t, opaTree())
			c.change(dir)
			if err := os.Chmod(filepath.Join(dir, "v1/metrics/sample_test.go"), 0o600); err != nil {
				t.Fatal(err)
			}
			before := readTree(t, dir)
			mustRevert(t, dir, false, "")

			mustPatch(t, dir, true, tinyDropIn("A"), allPatched)
			checkSameTree(t, dir, before)
			mustPatch(t, dir, false, tinyDropIn("A"), allPatched)
			patched := readTree(t, dir)
			if _, ok := patched[c.record]; !ok {
				t.Errorf("no record in %s", c.record)
			}
			for name := range patched {
				if before[name] != patched[name] && !strings.HasPrefix(name, "v1/metrics/") && name != c.record {
					t.Errorf("changed %s", name)
				}
			}
			mustPatch(t, dir, false, tinyDropIn("A"), "")
			checkSameTree(t, dir, patched)

			mustRevert(t, dir, true, allReverted)
			checkSameTree(t, dir, patched)
			mustRevert(t, dir, false, allReverted)
			checkSameTree(t, dir, before)
			mustRevert(t, dir, false, "")
		})
	}
}

// A newer drop-in takes the place of the older one, and the way back still
// leads to OPA's own files.
func TestPatchUpdate(t *testing.T) {
	dir := writeTree(t, opaTree())
	before := readTree(t, dir)
	mustPatch(t, dir, false, tinyDropIn("A"), allPatched)
	writeText(t, filepath.Join(dir, "v1/metrics/clock_test.go"), "package metrics\n")
	newer := tinyDropIn("B")
	newer["watch.go"] = newer["clock.go"]
	delete(newer, "clock.go")
	mustPatch(t, dir, false, newer, "remove v1/metrics/clock.go; add v1/metrics/watch.go")
	mustPatch(t, dir, false, newer, "")
	mustRevert(t, dir, false, "restore v1/metrics/metrics.go; restore v1/metrics/sample.go; restore v1/metrics/sample_test.go; remove v1/metrics/watch.go")
	if err := os.Remove(filepath.Join(dir, "v1/metrics/clock_test.go")); err != nil {
		t.Error("a test of the user's is gone")
	}
	checkSameTree(t, dir, before)
}

// Edits are never lost: neither by patching again nor by reverting.
func TestPatchEdited(t *testing.T) {
	for _, names := range [][]string{{"metrics.go"}, {"clock.go"}, {"sample.go"}, {"clock.go", "metrics.go"}} {
		dir := writeTree(t, opaTree())
		mustPatch(t, dir, false, tinyDropIn("A"), allPatched)
		for _, name := range names {
			writeText(t, filepath.Join(dir, "v1/metrics", name), "package metrics // edited\n")
		}
		name := strings.Join(names, "\n  v1/metrics/")
		edited := readTree(t, dir)
		_, err := patch(t.Context(), dir, false, tinyDropIn("B"))
		checkError(t, "patch "+name, err, "v1/metrics/"+name)
		_, err = revert(dir, false, tinyDropIn("A"))
		checkError(t, "revert "+name, err, "v1/metrics/"+name)
		checkSameTree(t, dir, edited)
	}
}

// What Git brought back, and what was deleted, does not stand in the way.
func TestRevertPartly(t *testing.T) {
	dir := writeTree(t, opaTree())
	before := readTree(t, dir)
	mustPatch(t, dir, false, tinyDropIn("A"), allPatched)
	for _, name := range []string{"v1/metrics/metrics.go", "v1/metrics/sample.go"} {
		writeText(t, filepath.Join(dir, name), opaTree()[name])
	}
	if err := os.Remove(filepath.Join(dir, "v1/metrics/clock.go")); err != nil {
		t.Fatal(err)
	}
	mustRevert(t, dir, false, "restore v1/metrics/sample_test.go")
	checkSameTree(t, dir, before)
}

// What is in the tree decides, not what a record in the Git folder tells of it.
func TestPatchForgets(t *testing.T) {
	for name, version := range map[string]string{"the same version": "1.5.0", "another version": "1.6.0"} {
		t.Run(name, func(t *testing.T) {
			dir := writeTree(t, opaTree())
			writeText(t, filepath.Join(dir, ".git", "HEAD"), "x")
			mustPatch(t, dir, false, tinyDropIn("A"), allPatched)
			// git reset --hard, git clean -fd, and another commit.
			if err := os.Remove(filepath.Join(dir, "v1/metrics/clock.go")); err != nil {
				t.Fatal(err)
			}
			another := opaTree()
			another["v1/metrics/metrics.go"] += "\n// Another one.\n"
			another["v1/version/version.go"] = strings.Replace(another["v1/version/version.go"], "1.5.0", version, 1)
			for name, text := range another {
				writeText(t, filepath.Join(dir, name), text)
			}
			record := filepath.Join(dir, ".git", "regometer-patch.json")
			text, err := os.ReadFile(record)
			if err != nil {
				t.Fatal(err)
			}
			before := readTree(t, dir)
			mustRevert(t, dir, false, "")
			checkSameTree(t, dir, before)
			mustPatch(t, dir, false, tinyDropIn("A"), allPatched)
			mustRevert(t, dir, false, allReverted)
			writeText(t, record, string(text))
			checkSameTree(t, dir, before)
		})
	}
}

// The record of another OPA's patch does not bring back that one's files.
func TestPatchOfAnother(t *testing.T) {
	dir := writeTree(t, opaTree())
	mustPatch(t, dir, false, tinyDropIn("A"), allPatched)
	version := opaTree()["v1/version/version.go"]
	writeText(t, filepath.Join(dir, "v1/version/version.go"), strings.Replace(version, "1.5.0", "1.6.0", 1))
	before := readTree(t, dir)
	_, err := patch(t.Context(), dir, false, tinyDropIn("B"))
	checkError(t, "patch", err, "put into OPA 1.5.0, and this is OPA 1.6.0")
	_, err = revert(dir, false, tinyDropIn("A"))
	checkError(t, "revert", err, "put into OPA 1.5.0, and this is OPA 1.6.0")
	checkSameTree(t, dir, before)
}

// Files outside of the tree stay as they are, wherever links in it lead to.
func TestPatchLinks(t *testing.T) {
	link := func(to, file string) {
		t.Helper()
		if err := os.Rename(file, to); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, file); err != nil {
			t.Skip(err)
		}
	}
	dir, outside := writeTree(t, opaTree()), filepath.Join(t.TempDir(), "away")
	link(outside, filepath.Join(dir, "v1/metrics"))
	before := readTree(t, outside)
	_, err := patch(t.Context(), dir, false, tinyDropIn("A"))
	checkError(t, "a folder outside", err, "outside of the tree")
	checkSameTree(t, outside, before)

	for _, name := range []string{"metrics.go", "sample.go"} {
		dir, outside = writeTree(t, opaTree()), filepath.Join(t.TempDir(), "away")
		link(outside, filepath.Join(dir, "v1/metrics", name))
		before := readTree(t, dir)
		_, err = patch(t.Context(), dir, false, tinyDropIn("A"))
		checkError(t, name, err, name)
		checkSameTree(t, dir, before)
	}

	// In the tree there may be links.
	dir = writeTree(t, opaTree())
	elsewhere := filepath.Join(dir, "elsewhere")
	link(elsewhere, filepath.Join(dir, "v1/metrics"))
	before = readTree(t, elsewhere)
	mustPatch(t, dir, false, tinyDropIn("A"), allPatched)
	mustRevert(t, dir, false, allReverted)
	checkSameTree(t, elsewhere, before)

	// A file called .git may name any folder.
	dir, outside = writeTree(t, opaTree()), t.TempDir()
	writeText(t, filepath.Join(dir, ".git"), "gitdir: "+outside+"\n")
	mustPatch(t, dir, false, tinyDropIn("A"), allPatched)
	checkSameTree(t, outside, nil)
}

// A patch for which there is no room says so, and what to do; then it can be
// finished and taken back.
func TestPatchUnfinished(t *testing.T) {
	for _, back := range []bool{false, true} {
		dir := writeTree(t, opaTree())
		before := readTree(t, dir)
		// A folder cannot give way to a file.
		blocked := filepath.Join(dir, "v1/metrics/zebra.go")
		d := tinyDropIn("A")
		d["zebra.go"] = []byte("package metrics\n")
		p, err := openPatch(dir, false)
		if err != nil {
			t.Fatal(err)
		}
		r, err := d.plan(p.dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name := range r {
			now, err := p.state(name)
			if err != nil {
				t.Fatal(err)
			}
			p.record.note(p.dir, name, now, r[name])
		}
		if err := os.MkdirAll(filepath.Join(blocked, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		err = p.put(r)
		checkError(t, "patch", err, "is not finished")
		checkError(t, "patch", err, "--revert")
		if err := os.RemoveAll(blocked); err != nil {
			t.Fatal(err)
		}
		if !back {
			mustPatch(t, dir, false, d, "add v1/metrics/zebra.go")
		}
		if _, err := revert(dir, false, d); err != nil {
			t.Fatal(err)
		}
		checkSameTree(t, dir, before)
	}
}

// What a killed process left is cleaned up, and nothing else.
func TestPatchCleansUp(t *testing.T) {
	dir := writeTree(t, opaTree())
	writeText(t, filepath.Join(dir, ".git", "HEAD"), "x")
	writeText(t, filepath.Join(dir, "v1/metrics/.metrics.go.1.tmp"), "of someone else's")
	before := readTree(t, dir)
	leave := func() {
		t.Helper()
		for _, folder := range []string{"v1/metrics", ".git"} {
			f, err := os.CreateTemp(filepath.Join(dir, folder), ".regometer-*.tmp")
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
	}
	leave()
	mustPatch(t, dir, false, tinyDropIn("A"), allPatched)
	leave()
	mustRevert(t, dir, false, allReverted)
	checkSameTree(t, dir, before)
}

// A patch that was cut short after any number of its steps can be finished,
// and taken back.
func TestPatchInterrupted(t *testing.T) {
	for steps := range 5 {
		for _, back := range []bool{false, true} {
			dir := writeTree(t, opaTree())
			before := readTree(t, dir)
			d := tinyDropIn("A")
			p, err := openPatch(dir, false)
			if err != nil {
				t.Fatal(err)
			}
			r, err := d.plan(p.dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			names := []string{"clock.go", "metrics.go", "sample.go", "sample_test.go"}
			for _, name := range names {
				now, err := p.state(name)
				if err != nil {
					t.Fatal(err)
				}
				p.record.note(p.dir, name, now, r[name])
			}
			if err := p.save(); err != nil {
				t.Fatal(err)
			}
			for _, name := range names[:steps] {
				if err := (replacement{name: r[name]}).apply(p.dir); err != nil {
					t.Fatal(err)
				}
			}
			if !back {
				if _, err := patch(t.Context(), dir, false, d); err != nil {
					t.Fatal(err)
				}
				if r, err := d.plan(p.dir, nil); err != nil || len(r) > 0 {
					t.Errorf("after %d steps: not finished: %v, %v", steps, r, err)
				}
			}
			if _, err := revert(dir, false, d); err != nil {
				t.Fatal(err)
			}
			checkSameTree(t, dir, before)
		}
	}
}

func TestPatchNotes(t *testing.T) {
	files := opaTree()
	files["go.mod"] += "\nrequire (\n\ta.b/gone v1.0.0\n\ta.b/used v1.0.0\n)\n"
	files["v1/metrics/more.go"] = "package metrics\n\nimport (\n\t_ \"a.b/gone\"\n\t_ \"a.b/used\"\n)\n"
	files["v1/metrics/metrics_test.go"] = "package metrics\n\nimport _ \"a.b/used/sub\"\n"
	files["v1/version/version.go"] = strings.Replace(files["v1/version/version.go"], "1.5.0", "1.99.0", 1)
	r, err := patch(t.Context(), writeTree(t, files), true, tinyDropIn("A"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "1.99.0 is newer") || !strings.Contains(r.Notes[1], "requires a.b/gone,") {
		t.Errorf("got %q", r.Notes)
	}
}

func TestPatchRefused(t *testing.T) {
	files := opaTree()
	files["v1/version/version.go"] = "package version\n\nvar Version = \"0.99.0\"\n"
	_, err := patch(t.Context(), writeTree(t, files), false, tinyDropIn("A"))
	checkError(t, "too old", err, "too old")

	dir := writeTree(t, opaTree())
	_, err = patch(t.Context(), dir, false, dropIn{"metrics.go": []byte("package metrics\n")})
	checkError(t, "missing", err, "metrics.New")
	checkSameTree(t, dir, readTree(t, writeTree(t, opaTree())))

	// Patched by a commit: there is no record of what was before it.
	mustPatch(t, dir, false, tinyDropIn("A"), allPatched)
	if err := os.Remove(filepath.Join(dir, ".regometer-patch.json")); err != nil {
		t.Fatal(err)
	}
	_, err = revert(dir, false, tinyDropIn("A"))
	checkError(t, "no record", err, "version control")
	mustPatch(t, dir, false, tinyDropIn("A"), "")

	writeText(t, filepath.Join(dir, ".regometer-patch.json"), `{"files": {"../../main.go": {"original": null}}}`)
	_, err = revert(dir, false, tinyDropIn("A"))
	checkError(t, "outside", err, "outside")

	if err := os.Chmod(filepath.Join(dir, "v1/metrics"), 0o555); err != nil {
		t.Fatal(err)
	}
	_, err = patch(t.Context(), dir, true, tinyDropIn("A"))
	checkError(t, "read-only", err, "read-only")
	if err := os.Chmod(filepath.Join(dir, "v1/metrics"), 0o755); err != nil {
		t.Fatal(err)
	}

	_, err = patch(t.Context(), t.TempDir(), false, tinyDropIn("A"))
	checkError(t, "empty", err, "no go.mod")
}

// The drop-in of this program fits the way OPA's tree is laid out, whatever
// its files are called.
func TestPatchOwnDropIn(t *testing.T) {
	d, err := loadFiles()
	if err != nil {
		t.Fatal(err)
	}
	files := opaTree()
	files["go.mod"] = strings.Replace(files["go.mod"], "go 1.22", "go 1.26", 1)
	files["internal/user/user.go"] = "package user\n\nimport \"github.com/open-policy-agent/opa/v1/metrics\"\n\nfunc Use() string { metrics.NoOp(); return \"\" }\n"
	files["v1/metrics/sample.go"] += "\nfunc NoOp() interface{ metricsOnly() } { return nil }\n"
	_, err = patch(t.Context(), writeTree(t, files), true, d)
	checkError(t, "another NoOp", err, "metrics.NoOp as func()")
	files["v1/metrics/sample.go"] = "package metrics\n\ntype Metrics interface{}\n\nfunc NoOp() Metrics { return nil }\n\ntype timer struct{}\n\nfunc (timer) Stop(int) string { return \"\" }\n"
	dir := writeTree(t, files)
	before := readTree(t, dir)
	if _, err := Patch(t.Context(), dir, false); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "v1", "metrics"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") && e.Name() != "metrics_test.go" {
			got = append(got, e.Name())
		}
	}
	var want []string
	for name := range d {
		if name != "conformance_test.go" { // imports what stays here
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("v1/metrics holds %q, want %q", got, want)
	}
	if _, err := Revert(dir, false); err != nil {
		t.Fatal(err)
	}
	checkSameTree(t, dir, before)
}
