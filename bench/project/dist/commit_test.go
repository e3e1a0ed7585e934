// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindCommit(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b.c"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-01-02T03:04:06Z")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	git("tag", "v0.1.0")
	git("tag", "-a", "-m", "annotated", "v0.2.0")
	check := func(name, version string, any bool, want string) commit {
		t.Helper()
		c, err := findCommit(t.Context(), dir, version, any)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one with %q", name, err, want)
		}
		return c
	}
	for _, version := range []string{"v0.0.9", "v0.1.0", "v0.2.0"} {
		c := check("clean", version, false, "")
		if c.hash != git("rev-parse", "HEAD") || !c.time.Equal(someTime) || c.dirty {
			t.Errorf("%s is of %+v", version, c)
		}
	}
	git("commit", "-q", "--allow-empty", "-m", "second")
	check("tagged elsewhere", "v0.1.0", false, "the tag v0.1.0 is at commit")
	check("annotated elsewhere", "v0.2.0", false, "the tag v0.2.0 is at commit")
	check("not tagged", "v0.3.0", false, "")
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	check("dirty", "v0.3.0", false, "?? new")
	if c := check("dirty, and told so", "v0.1.0", true, ""); !c.dirty || !strings.Contains(c.String(), "with changes") {
		t.Errorf("dirty is %+v", c)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	if c := check("another time", "v0.3.0", true, ""); c.time.Unix() != 86400 {
		t.Errorf("with SOURCE_DATE_EPOCH the time is %v", c.time)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "today")
	check("a wrong time", "v0.3.0", true, "SOURCE_DATE_EPOCH: ")
	if _, err := findCommit(t.Context(), t.TempDir(), "v0.1.0", false); err == nil {
		t.Error("a folder without git is no error")
	}
}
