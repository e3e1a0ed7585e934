// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestLoadSteps(t *testing.T) {
	steps, err := loadSteps(fixtureSteps())
	if err != nil {
		t.Fatal(err)
	}
	s := steps[0]
	if len(steps) != 2 || s.Number != 1 || s.Name != "stop" || s.Title != "metrics: stop otherwise" ||
		s.Body != "So that it is *told*,\nin two lines.\n\n# Not a comment" || strings.Join(s.Paths(), " ") != "v1/metrics/sample.go v1/metrics/sample_test.go" {
		t.Errorf("got %+v", s)
	}
	if steps[1].Title != "metrics: halve otherwise" || steps[1].Body != "" {
		t.Errorf("got %+v", steps[1])
	}
}

// What a step's files and its list do not agree on is refused, as is what would
// be lost.
func TestLoadStepsRefuses(t *testing.T) {
	const (
		list = "01-stop/changes"
		file = "01-stop/v1/metrics/sample.go"
		at   = "step 1 (stop): "
	)
	for _, c := range []struct{ name, file, text, want string }{
		{"name", "03_x/changes", "x", "the step 03_x: its name"},
		{"gap", "04-x/changes", "x", "step 4 (x): step 3 was expected"},
		{"number twice", "01-x/changes", "x", "step 1 (x): step 2 was expected"},
		{"no message", "01-stop/text.md", "\n", at + "text.md: the first line"},
		{"long subject", "01-stop/text.md", "a\nb\n", at + "text.md: the second line"},
		{"end of message", "01-stop/text.md", "a\n\nb\n---\nc\n", at + "text.md: git would take the line that begins with \"---\""},
		{"other file", "01-stop/notes.txt", "", at + "notes.txt is neither"},
		{"no changes", list, "# none\n", at + "changes: none"},
		{"verb", list, "\nmove v1/metrics/sample.go f\n", at + "changes:2: not of the form"},
		{"words", list, "add v1/metrics/sample.go f behind g\n", at + "changes:1: not of the form"},
		{"outside", list, "add ../x.go f\n", at + "changes:1: ../x.go is no path"},
		{"no Go", list, "add README.md\n", at + "changes:1: README.md is no path"},
		{"twice", list, "add v1/metrics/sample.go f\nreplace v1/metrics/sample.go f 0\n", at + "changes:2: v1/metrics/sample.go f is listed already"},
		{"whole file too", list, "add v1/metrics/sample.go f\nadd v1/metrics/sample.go\n", at + "changes:2: v1/metrics/sample.go  is listed already"},
		{"part of a whole file", list, "add v1/metrics/sample.go\nadd v1/metrics/sample.go f\n", at + "changes:2: v1/metrics/sample.go f is listed already"},
		{"not declared", list, "replace v1/metrics/sample.go (timer).Stop 0\nadd v1/metrics/sample.go f\n", at + "changes:2: add v1/metrics/sample.go f, but"},
		{"no such file", list, "replace v1/metrics/sample.go (timer).Stop 0\nadd v1/metrics/other.go\n", at + "changes:2: add v1/metrics/other.go , but"},
		{"not listed", list, "add v1/metrics/other.go f\n", at + "v1/metrics/sample.go declares (timer).Stop, which"},
		{"declared and removed", list, "remove v1/metrics/sample.go (timer).Stop 0\n", at + "v1/metrics/sample.go declares (timer).Stop, which"},
		{"no Go", file, "package", at + "v1/metrics/sample.go:1:"},
		{"declared twice", file, ourHeaderText + "package metrics\n\nfunc (timer) Stop() {}\n\nfunc (timer) Stop() {}\n", at + "v1/metrics/sample.go declares (timer).Stop, which"},
		{"stray comment", file, ourHeaderText + "package metrics\n\n// Section.\n\nfunc (timer) Stop() {}\n", at + "v1/metrics/sample.go:6: the comment belongs"},
		{"comment in front", file, ourHeaderText + "//go:build linux\n\npackage metrics\n\nfunc (timer) Stop() {}\n", at + "v1/metrics/sample.go:4: the comment belongs"},
	} {
		steps := fixtureSteps()
		steps[c.file] = &fstest.MapFile{Data: []byte(c.text)}
		_, err := loadSteps(steps)
		checkError(t, c.name, err, c.want)
	}
}
