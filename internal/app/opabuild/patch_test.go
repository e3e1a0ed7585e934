// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func gitInit(t *testing.T, dir string, flags ...string) {
	t.Helper()
	if out, err := exec.Command("git", append(append([]string{"init", "-q"}, flags...), dir)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// summary returns changes and notes as text.
func summary(r PatchResult) string {
	var lines []string
	for _, c := range r.Changes {
		lines = append(lines, c.Action+" "+filepath.ToSlash(c.Path))
	}
	return strings.Join(append(lines, r.Notes...), "; ")
}

// noCompiler accepts every tree. Most tests are about files.
func noCompiler(context.Context, *patchedTree, map[string][]byte, ...string) error { return nil }

func mustPatch(t *testing.T, dir string, dryRun bool, d dropIn, want string) {
	t.Helper()
	r, err := patch(t.Context(), dir, dryRun, d, noCompiler, progress{})
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(r); got != want {
		t.Errorf("patch: %s\nwant:  %s", got, want)
	}
}

func mustRevert(t *testing.T, dir string, dryRun bool, want string) {
	t.Helper()
	r, err := revert(t.Context(), dir, dryRun, fakeDropIn("A"))
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(r); got != want {
		t.Errorf("revert: %s\nwant:   %s", got, want)
	}
}

const (
	allPatched  = "add v1/metrics/collection.go; replace v1/metrics/metrics.go; remove v1/metrics/sample.go; remove v1/metrics/sample_test.go"
	allReverted = "remove v1/metrics/collection.go; restore v1/metrics/metrics.go; restore v1/metrics/sample.go; restore v1/metrics/sample_test.go"
)

// There and back, in each kind of tree, with odd modes and an empty file.
func TestPatchRevert(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(dir string)
		record string
	}{
		{"folder", func(string) {}, ".regometer-patch.json"},
		{"checkout", func(dir string) { gitInit(t, dir) }, ".git/regometer-patch.json"},
		{"worktree", func(dir string) { gitInit(t, dir, "--separate-git-dir", filepath.Join(dir, "docs", "elsewhere")) }, "docs/elsewhere/regometer-patch.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeTree(t, opaTree())
			c.change(dir)
			if err := os.Chmod(filepath.Join(dir, "v1/metrics/sample_test.go"), 0o600); err != nil {
				t.Fatal(err)
			}
			before := readTree(t, dir)
			mustRevert(t, dir, false, "")

			mustPatch(t, dir, true, fakeDropIn("A"), allPatched)
			checkSameTree(t, dir, before)
			mustPatch(t, dir, false, fakeDropIn("A"), allPatched)
			patched := readTree(t, dir)
			if _, ok := patched[c.record]; !ok {
				t.Errorf("no record in %s", c.record)
			}
			for name := range patched {
				if before[name] != patched[name] && !strings.HasPrefix(name, "v1/metrics/") && name != c.record {
					t.Errorf("changed %s", name)
				}
			}
			mustPatch(t, dir, false, fakeDropIn("A"), "")
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
	mustPatch(t, dir, false, fakeDropIn("A"), allPatched)
	writeText(t, filepath.Join(dir, "v1/metrics/collection_test.go"), "package metrics\n")
	newer := fakeDropIn("B")
	newer["watch.go"] = newer["collection.go"]
	delete(newer, "collection.go")
	mustPatch(t, dir, false, newer, "remove v1/metrics/collection.go; add v1/metrics/watch.go")
	mustPatch(t, dir, false, newer, "")
	mustRevert(t, dir, false, "restore v1/metrics/metrics.go; restore v1/metrics/sample.go; restore v1/metrics/sample_test.go; remove v1/metrics/watch.go")
	if err := os.Remove(filepath.Join(dir, "v1/metrics/collection_test.go")); err != nil {
		t.Error("a test of the user's is gone")
	}
	checkSameTree(t, dir, before)
}

// Edits are never lost, and the record of another OPA's patch does not bring
// back the files of that OPA.
func TestPatchEdited(t *testing.T) {
	const edited = "package metrics // edited\n"
	for want, edits := range map[string]map[string]string{
		"v1/metrics/metrics.go":                             {"v1/metrics/metrics.go": edited},
		"v1/metrics/collection.go":                          {"v1/metrics/collection.go": edited},
		"v1/metrics/sample.go":                              {"v1/metrics/sample.go": edited},
		"v1/metrics/collection.go\n  v1/metrics/metrics.go": {"v1/metrics/collection.go": edited, "v1/metrics/metrics.go": edited},
		"put into OPA 1.5.0, but this is OPA 1.6.0":         {"v1/version/version.go": strings.Replace(opaTree()["v1/version/version.go"], "1.5.0", "1.6.0", 1)},
	} {
		dir := writeTree(t, opaTree())
		mustPatch(t, dir, false, fakeDropIn("A"), allPatched)
		for name, text := range edits {
			writeText(t, filepath.Join(dir, name), text)
		}
		before := readTree(t, dir)
		_, err := patch(t.Context(), dir, false, fakeDropIn("B"), noCompiler, progress{})
		checkError(t, "patch", err, want)
		_, err = revert(t.Context(), dir, false, fakeDropIn("A"))
		checkError(t, "revert", err, want)
		checkSameTree(t, dir, before)
	}
}

// Revert accepts files that Git restored and files that were deleted.
func TestRevertPartly(t *testing.T) {
	dir := writeTree(t, opaTree())
	before := readTree(t, dir)
	mustPatch(t, dir, false, fakeDropIn("A"), allPatched)
	for _, name := range []string{"v1/metrics/metrics.go", "v1/metrics/sample.go"} {
		writeText(t, filepath.Join(dir, name), opaTree()[name])
	}
	if err := os.Remove(filepath.Join(dir, "v1/metrics/collection.go")); err != nil {
		t.Fatal(err)
	}
	mustRevert(t, dir, false, "restore v1/metrics/sample_test.go")
	checkSameTree(t, dir, before)
}

// The tree decides, not a record in the Git folder.
func TestPatchForgets(t *testing.T) {
	for name, version := range map[string]string{"the same version": "1.5.0", "another version": "1.6.0"} {
		t.Run(name, func(t *testing.T) {
			dir := writeTree(t, opaTree())
			gitInit(t, dir)
			mustPatch(t, dir, false, fakeDropIn("A"), allPatched)
			// git reset --hard, git clean -fd, and another commit.
			if err := os.Remove(filepath.Join(dir, "v1/metrics/collection.go")); err != nil {
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
			mustPatch(t, dir, false, fakeDropIn("A"), allPatched)
			mustRevert(t, dir, false, allReverted)
			writeText(t, record, string(text))
			checkSameTree(t, dir, before)
		})
	}
}

// Files outside of the tree never change, wherever links in it lead.
func TestPatchLinks(t *testing.T) {
	link := func(to, file string) {
		t.Helper()
		if err := errors.Join(os.Rename(file, to), os.Symlink(to, file)); err != nil {
			t.Fatal(err)
		}
	}
	dir, outside := writeTree(t, opaTree()), filepath.Join(t.TempDir(), "away")
	link(outside, filepath.Join(dir, "v1/metrics"))
	before := readTree(t, outside)
	_, err := patch(t.Context(), dir, false, fakeDropIn("A"), noCompiler, progress{})
	checkError(t, "a folder outside", err, "outside the tree")
	checkSameTree(t, outside, before)

	for _, name := range []string{"metrics.go", "sample.go"} {
		dir, outside = writeTree(t, opaTree()), filepath.Join(t.TempDir(), "away")
		link(outside, filepath.Join(dir, "v1/metrics", name))
		before := readTree(t, dir)
		_, err = patch(t.Context(), dir, false, fakeDropIn("A"), noCompiler, progress{})
		checkError(t, name, err, name)
		checkSameTree(t, dir, before)
	}

	// In the tree there may be links.
	dir = writeTree(t, opaTree())
	elsewhere := filepath.Join(dir, "elsewhere")
	link(elsewhere, filepath.Join(dir, "v1/metrics"))
	before = readTree(t, elsewhere)
	mustPatch(t, dir, false, fakeDropIn("A"), allPatched)
	mustRevert(t, dir, false, allReverted)
	checkSameTree(t, elsewhere, before)

	// A file called .git may name any folder, and a checkout may be around the
	// tree.
	dir, outside = writeTree(t, opaTree()), t.TempDir()
	writeText(t, filepath.Join(dir, ".git"), "gitdir: "+outside+"\n")
	mustPatch(t, dir, false, fakeDropIn("A"), allPatched)
	checkSameTree(t, outside, nil)
	around := t.TempDir()
	gitInit(t, around)
	if err := os.CopyFS(filepath.Join(around, "opa"), os.DirFS(writeTree(t, opaTree()))); err != nil {
		t.Fatal(err)
	}
	before = readTree(t, filepath.Join(around, ".git"))
	mustPatch(t, filepath.Join(around, "opa"), false, fakeDropIn("A"), allPatched)
	checkSameTree(t, filepath.Join(around, ".git"), before)
}

// A patch that was cut short after any number of its files can be finished and
// reverted. So can an update.
func TestPatchInterrupted(t *testing.T) {
	for steps := range 6 {
		for _, update := range []bool{false, true} {
			for _, back := range []bool{false, true} {
				dir := writeTree(t, opaTree())
				before := readTree(t, dir)
				if update {
					mustPatch(t, dir, false, fakeDropIn("B"), allPatched)
				}
				d := fakeDropIn("A")
				d["zebra.go"] = []byte("package metrics\n")
				p, err := openPatch(t.Context(), dir)
				if err != nil {
					t.Fatal(err)
				}
				target := d.replace(p.original)
				if err := p.note(target); err != nil {
					t.Fatal(err)
				}
				r := difference(p.now, target)
				names := slices.Sorted(maps.Keys(r))
				for _, name := range names[:min(steps, len(names))] {
					if err := (replacement{name: r[name]}).apply(p.dir); err != nil {
						t.Fatal(err)
					}
				}
				if !back {
					if _, err := patch(t.Context(), dir, false, d, noCompiler, progress{}); err != nil {
						t.Fatal(err)
					}
					mustPatch(t, dir, false, d, "")
				}
				if _, err := revert(t.Context(), dir, false, d); err != nil {
					t.Fatal(err)
				}
				checkSameTree(t, dir, before)
			}
		}
	}
}

func TestPatchNotes(t *testing.T) {
	files := opaTree()
	files["go.mod"] += "\n// It once needed github.com/rcrowley/go-metrics.\n"
	files["v1/version/version.go"] = strings.Replace(files["v1/version/version.go"], "1.5.0", "1.99.0", 1)
	files["v1/metrics/metrics_test.go"] += "\nfunc helper() {}\n"
	d := fakeDropIn("A")
	d["collection_test.go"] = []byte("package metrics\n\nfunc helper() {}\n") // does not compile beside OPA's
	files["go.mod"] = strings.Replace(files["go.mod"], "go 1.22", "go 1.26", 1)
	r, err := patch(t.Context(), writeTree(t, files), true, d, compileWith, progress{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1.99.0 is newer", "own tests", "go mod tidy"}
	if len(r.Notes) != len(want) || len(r.Changes) != 4 {
		t.Fatalf("got %q", summary(r))
	}
	for i, w := range want {
		if !strings.Contains(r.Notes[i], w) {
			t.Errorf("got %q, want a note with %q", r.Notes[i], w)
		}
	}
}

func TestPatchRefused(t *testing.T) {
	files := opaTree()
	files["v1/version/version.go"] = "package version\n\nvar Version = \"0.99.0\"\n"
	_, err := patch(t.Context(), writeTree(t, files), false, fakeDropIn("A"), noCompiler, progress{})
	checkError(t, "too old", err, "too old")

	dir := writeTree(t, opaTree())
	_, err = patch(t.Context(), dir, false, dropIn{"metrics.go": []byte("package metrics\n")}, compileWith, progress{})
	checkError(t, "missing", err, "undefined: metrics.New")
	checkSameTree(t, dir, readTree(t, writeTree(t, opaTree())))

	// Patched by a commit: no record has the original files.
	mustPatch(t, dir, false, fakeDropIn("A"), allPatched)
	record := filepath.Join(dir, ".regometer-patch.json")
	if err := os.Remove(record); err != nil {
		t.Fatal(err)
	}
	_, err = revert(t.Context(), dir, false, fakeDropIn("A"))
	checkError(t, "no record", err, "version control")
	mustPatch(t, dir, false, fakeDropIn("A"), "")
	writeText(t, record, `{"files": {"../../main.go": {"original": null}}}`)
	_, err = revert(t.Context(), dir, false, fakeDropIn("A"))
	checkError(t, "outside", err, "outside")

	p, err := openPatch(t.Context(), writeTree(t, opaTree()))
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Join(p.dir, "collection.go", "x"), 0o755), os.Chmod(p.dir, 0o555))
	}
	if err != nil {
		t.Fatal(err)
	}
	checkError(t, "a failed write", p.write(fakeDropIn("A").replace(p.original)), "patch --revert")
	_, err = patch(t.Context(), filepath.Dir(filepath.Dir(p.dir)), true, fakeDropIn("A"), noCompiler, progress{})
	checkError(t, "read-only", err, "read-only")
	if err := os.Chmod(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

// The drop-in of this program comes whole and leaves whole.
func TestPatchOwnDropIn(t *testing.T) {
	files := opaTree()
	files["go.mod"] = strings.Replace(files["go.mod"], "go 1.22", "go 1.26", 1)
	files["internal/user/user.go"] = "package user\n\nimport \"github.com/open-policy-agent/opa/v1/metrics\"\n\nfunc Use() string { var m any = metrics.NoOp(); _ = m; return \"\" }\n"
	files["v1/metrics/metrics_test.go"] = "package metrics\n\nimport \"testing\"\n\nfunc TestNew(*testing.T) { New() }\n"
	dir := writeTree(t, files)
	before := readTree(t, dir)
	if r, err := Patch(t.Context(), dir, false, nil); err != nil || len(r.Notes) > 0 {
		t.Fatal(summary(r), err)
	}
	for name := range loadDropIn() {
		foreign := name == "conformance_test.go" || name == "interleave_test.go" // they import packages that stay here
		if _, err := os.Stat(filepath.Join(dir, metricsDir, name)); (err != nil) != foreign {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Revert(t.Context(), dir, false); err != nil {
		t.Fatal(err)
	}
	checkSameTree(t, dir, before)
}
