// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The patches put into a checkout what ApplySteps does, whoever the user is and
// whatever settings there are.
func TestWritePatches(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	files := fixtureTree()
	steps := mustLoad(t, fixtureSteps(), files)
	tree := writeTree(t, files)
	before := readTree(t, tree)

	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("GIT_CONFIG_GLOBAL", "")
	os.Unsetenv("GIT_CONFIG_GLOBAL")
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "EMAIL"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Chdir(home)
	write := func(dir string) (patches []StepPatch, progress string) {
		t.Helper()
		var b bytes.Buffer
		patches, err := WritePatches(t.Context(), tree, dir, steps, &b)
		if err != nil {
			t.Fatal(err)
		}
		checkSameTree(t, tree, before)
		return patches, b.String()
	}

	dir := filepath.Join(t.TempDir(), "dist", "up stream")
	writeText(t, filepath.Join(dir, "0003-old.patch"), "")
	writeText(t, filepath.Join(dir, "table.txt"), "")
	patches, warning := write(dir)
	if !strings.Contains(warning, "the author of the patches is Your Name <you@example.com>\n") {
		t.Errorf("without an author it says %q", warning)
	}
	var got []string
	for _, p := range patches {
		got = append(got, fmt.Sprintf("%s +%d -%d", filepath.Base(p.File), p.Added, p.Deleted))
	}
	if want := []string{"0001-metrics-stop-otherwise.patch +5 -2", "0002-metrics-halve-otherwise.patch +8 -8"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	first := readTree(t, dir)
	if len(first) != 3 || first["table.txt"] == "" {
		t.Errorf("the folder holds %q", first)
	}

	// Settings that would make other patches, and an author.
	writeText(t, filepath.Join(home, ".gitconfig"), `[user]
	name = Ada Lovelace
	email = ada@example.com
[commit]
	gpgSign = true
[format]
	signOff = true
	subjectPrefix = OTHER
[diff]
	noprefix = true
	context = 1
[core]
	hooksPath = /nowhere
	autocrlf = true
`)
	writeText(t, filepath.Join(home, ".config/git/attributes"), "*.go diff=golang text eol=crlf\n")
	patches, warning = write(dir)
	second := readTree(t, dir)
	for name, text := range first {
		if want := strings.Replace(text, "From: Your Name <you@example.com>", "From: Ada Lovelace <ada@example.com>", 1); second[name] != want {
			t.Errorf("with settings and an author, %s is\n%s\nwant\n%s", name, second[name], want)
		}
	}
	if warning != "" {
		t.Errorf("with an author it says %q", warning)
	}

	// In a checkout.
	want := writeTree(t, files)
	if err := ApplySteps(want, steps); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".gitconfig", ".config"} {
		if err := os.RemoveAll(filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	checkout := writeTree(t, files)
	git := func(args ...string) string {
		t.Helper()
		return run(t, "git", append([]string{"-C", checkout, "-c", "user.name=Grace Hopper", "-c", "user.email=grace@example.com"}, args...)...)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "OPA")
	git("am", "-q", "--signoff", patches[0].File, patches[1].File)
	if status := git("status", "--porcelain"); status != "" {
		t.Error(status)
	}
	logged := git("log", "-2", "--reverse", "--format=%an %ae %aI%n%B")
	const author = "Ada Lovelace ada@example.com 2026-01-01T00:00:00+00:00\n"
	const signed = "\n\nSigned-off-by: Grace Hopper <grace@example.com>"
	if want := author + steps[0].Title + "\n\n" + steps[0].Body + signed + "\n\n" + author + steps[1].Title + signed; logged != want {
		t.Errorf("the commits are\n%s\nwant\n%s", logged, want)
	}
	if err := os.RemoveAll(filepath.Join(checkout, ".git")); err != nil {
		t.Fatal(err)
	}
	checkSameTree(t, checkout, readTree(t, want))
}

func TestWritePatchesRefuses(t *testing.T) {
	files := fixtureTree()
	steps := mustLoad(t, fixtureSteps(), files)
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "0001-old.patch"), "")
	_, err := WritePatches(t.Context(), writeTree(t, files), dir, steps[1:], nil)
	checkError(t, "not in order", err, "step 2 (halves): v1/metrics/sample.go: (timer).Stop is not what")
	if got := readTree(t, dir); len(got) != 1 {
		t.Errorf("a refusal leaves %q", got)
	}
	tree := writeTree(t, files)
	if patches, err := WritePatches(t.Context(), tree, dir, nil, nil); len(patches) > 0 || err != nil || len(readTree(t, dir)) > 0 {
		t.Errorf("no steps: %v, %v", patches, err)
	}
	t.Setenv("PATH", t.TempDir())
	_, err = WritePatches(t.Context(), tree, dir, steps, nil)
	checkError(t, "no git", err, "patches are written by git")
}
