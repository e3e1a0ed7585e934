// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// pinned matches an action by the commit, whose content nobody can change, with
// the version for people and for updates.
var pinned = regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)

// TestWorkflows: a workflow runs what was looked at, with the rights that it
// needs, and the Go of go.work.
func TestWorkflows(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	minor := regexp.MustCompile(`^\d+\.\d+`).FindString(work.Go.Version)
	names, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	pins := map[string]string{} // by action
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\npermissions:") {
			t.Errorf("%s has no permissions of its own, and gets those that are usual", name)
		}
		for _, m := range regexp.MustCompile(`(?m)\buses: *(.*)$`).FindAllStringSubmatch(string(text), -1) {
			action, _, _ := strings.Cut(m[1], "@")
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s uses %s, want a commit and a version such as action@0123… # v1.2.3", name, m[1])
			} else if pins[action] != "" && pins[action] != m[1] {
				t.Errorf("%s uses %s, another %s", name, m[1], pins[action])
			}
			pins[action] = m[1]
		}
		for _, m := range regexp.MustCompile(`go-version: *(.*)`).FindAllStringSubmatch(string(text), -1) {
			if want := `"` + minor + `.x"`; m[1] != want {
				t.Errorf("%s has Go %s, want %s, as go.work", name, m[1], want)
			}
		}
	}
}

// TestDependabot: updates are proposed for all modules, of what OPA does not
// require.
func TestDependabot(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".github", "dependabot.yml"))
	if err != nil {
		t.Fatal(err)
	}
	_, limits := opaLimits(t)
	var folders, free, allowed []string
	for _, m := range modules(t) {
		folder := "/" + filepath.ToSlash(m.Dir)
		if len(m.File.Require) > 0 {
			folders = append(folders, folder)
		}
		for _, r := range m.File.Require {
			if limits[r.Mod.Path] == "" && !r.Indirect && !strings.HasPrefix(r.Mod.Path, "github.com/regometer/") {
				free = append(free, r.Mod.Path)
			}
		}
	}
	slices.Sort(folders)
	if want := "directories: [" + strings.Join(folders, ", ") + "]"; !strings.Contains(string(text), want) {
		t.Errorf("dependabot.yml lacks %s", want)
	}
	if want := "directories: [/" + strings.Join(slices.Sorted(slices.Values(outside)), ", /") + "]"; !strings.Contains(string(text), want) {
		t.Errorf("dependabot.yml lacks %s", want)
	}
	_, allow, _ := strings.Cut(string(text), "allow:\n")
	allow, _, _ = strings.Cut(allow, "groups:\n")
	for _, m := range regexp.MustCompile(`- dependency-name: (.*)`).FindAllStringSubmatch(allow, -1) {
		allowed = append(allowed, m[1])
	}
	slices.Sort(free)
	if free = slices.Compact(free); !slices.Equal(allowed, free) {
		t.Errorf("dependabot.yml allows updates of %q, OPA leaves free %q", allowed, free)
	}
}
