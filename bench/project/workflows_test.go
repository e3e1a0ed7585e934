// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"regexp"
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
