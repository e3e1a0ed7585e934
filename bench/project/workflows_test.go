// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pinned matches an action by its commit, whose content nobody can change, with
// the version for people and for updates.
var pinned = regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)

// TestWorkflows: a workflow states its permissions, pins its actions, and uses
// the Go of go.work. actionlint checks the rest.
func TestWorkflows(t *testing.T) {
	minor := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.work"))[1]
	pins := map[string]string{} // by action
	for name, text := range texts(t, ".github/workflows/*") {
		if !strings.Contains(text, "\npermissions:") {
			t.Errorf("%s states no permissions, and gets the default ones", name)
		}
		for _, m := range regexp.MustCompile(`\b(uses|go-version): *(.*)`).FindAllStringSubmatch(text, -1) {
			action, _, _ := strings.Cut(m[2], "@")
			switch {
			case m[1] == "go-version" && m[2] != `"`+minor+`.x"`:
				t.Errorf("%s has Go %s, and go.work has %s", name, m[2], minor)
			case m[1] == "uses" && (!pinned.MatchString(m[2]) || pins[action] != "" && pins[action] != m[2]):
				t.Errorf("%s uses %s, want a commit and a version such as action@0123… # v1.2.3, the same in all workflows", name, m[2])
			}
			pins[action] = m[2]
		}
	}
}

// TestDependabot: Dependabot looks after all modules, and proposes updates of
// the dependencies that OPA does not have.
func TestDependabot(t *testing.T) {
	text := read(t, ".github/dependabot.yml")
	modules, err := Modules(root)
	if err != nil {
		t.Fatal(err)
	}
	_, limits := opaLimits(t)
	var folders, free, allowed []string
	for _, m := range modules {
		if len(m.File.Require) > 0 {
			folders = append(folders, "/"+m.Dir)
		}
		for _, r := range m.File.Require {
			if limits[r.Mod.Path] == "" && !r.Indirect && !strings.HasPrefix(r.Mod.Path, own) {
				free = append(free, r.Mod.Path)
			}
		}
	}
	slices.Sort(folders)
	for _, want := range []string{strings.Join(folders, ", "), "/" + strings.Join(outside, ", /")} {
		if !strings.Contains(text, "directories: ["+want+"]") {
			t.Errorf("dependabot.yml lacks directories: [%s]", want)
		}
	}
	allow := regexp.MustCompile(`(?s)allow:\n.*?groups:`).FindString(text)
	for _, m := range regexp.MustCompile(`- dependency-name: (.*)`).FindAllStringSubmatch(allow, -1) {
		allowed = append(allowed, m[1])
	}
	slices.Sort(free)
	if free = slices.Compact(free); !slices.Equal(allowed, free) {
		t.Errorf("dependabot.yml allows updates of %q, OPA leaves free %q", allowed, free)
	}
}
