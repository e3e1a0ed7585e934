// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opabuild

import (
	"fmt"
	"strings"
	"testing"
)

// checkError checks that the error holds a text, or is nil if that is empty.
func checkError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got error %v, want one with %q", name, err, want)
	}
}

func TestCheckRange(t *testing.T) {
	newest, _ := parseVersion(NewestVersion)
	nextPatch := fmt.Sprintf("%d.%d.%d", newest[0], newest[1], newest[2]+1)
	nextMinor := fmt.Sprintf("%d.%d.0", newest[0], newest[1]+1)
	for _, c := range []struct{ version, warning, err string }{
		{OldestVersion, "", ""},
		{NewestVersion, "", ""},
		{"1.9.99", "", ""},
		{NewestVersion + "-rc1", "", ""},
		{"0.70.0", "", "too old"},
		{OldestVersion + "-rc1", "", "too old"},
		{nextPatch, "", ""},
		{nextMinor, "newer than " + NewestRange, ""},
		{"v2.0.0", "newer", ""},
		{nextMinor + "-dev", "newer", ""},
		{"banana", "no version", ""},
	} {
		warning, err := checkRange(c.version)
		checkError(t, c.version, err, c.err)
		if (c.warning == "") != (warning == "") || !strings.Contains(warning, c.warning) {
			t.Errorf("%s: warning %q, want %q", c.version, warning, c.warning)
		}
	}
}

func TestTreeVersion(t *testing.T) {
	dir := writeTree(t, opaTree())
	if v, err := treeVersion(dir); v != "1.5.0" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
	writeText(t, dir+"/v1/version/version.go", "package version\n")
	_, err := treeVersion(dir)
	checkError(t, "no variable", err, "no variable Version")
}

func TestFindSource(t *testing.T) {
	dir := writeTree(t, opaTree())
	for _, c := range []struct{ opa, version, dir, err string }{
		{"", NewestVersion, "", ""},
		{"1.4.0", "v1.4.0", "", ""},
		{"v1.4.0", "v1.4.0", "", ""},
		{dir, "", dir, ""},
		{"0.68.0", "", "", "too old"},
		{"./no-such-folder", "", "", "no-such-folder"},
		{dir + "/main.go", "", "", "not a folder"},
		{dir + "/v1", "", "", "not the root"},
	} {
		s, err := findSource(t.Context(), c.opa)
		checkError(t, c.opa, err, c.err)
		if err == nil && (s.version != c.version || s.dir != c.dir) {
			t.Errorf("%q: got %+v", c.opa, s)
		}
	}
}
