// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A replay writes its report and the profile, and its status says whether a
// threshold is exceeded.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	for i := range 20 {
		fmt.Fprintf(&log, `{"decision_id":"%d","labels":{},"timestamp":"2026-01-02T03:04:05Z","path":"p/allow","input":{"n":%[1]d},"result":%t}`+"\n", i, i != 7)
	}
	file, page, policy, profile := filepath.Join(dir, "log"), filepath.Join(dir, "page.html"), filepath.Join(dir, "p.rego"), filepath.Join(dir, "rego.pb.gz")
	write(file, log.String())
	write(policy, "package p\nallow if input.n >= 0")
	for _, c := range []struct {
		flags  string
		status int
		want   string
	}{
		{"", 0, "19 equal, 1 changed"},
		{"--format json --all", 0, `"denied-to-allowed": 1`},
		{"--format markdown", 0, "## Rules by their own time"},
		{"--format github --fail-on changed>0", exitExceeded, "::error"},
		{"--fail-on changed>1", 0, "19 equal"},
		{"--show-input", 0, `{"n":7}`},
		{"--against " + policy, 0, "20 equal"},
		{"--path gone", exitEmpty, "Nothing was replayed"},
		{"--pprof " + profile, 0, "19 equal"},
		{"--html " + page, 0, "19 equal"},
		{"--pprof " + file, exitFailure, ""},
	} {
		status, stdout, stderr := call(t.Context(), append([]string{"replay", "--policy", policy, file}, strings.Fields(c.flags)...)...)
		if status != c.status || !strings.Contains(stdout, c.want) {
			t.Errorf("%s: status %d, want %d with %s:\n%s%s", c.flags, status, c.status, c.want, stdout, stderr)
		}
	}
	if out := succeed(t, "replay", "--policy", policy, file); strings.Contains(out, `{"n"`) {
		t.Errorf("inputs are shown:\n%s", out)
	}
	if !strings.Contains(read(page), "regometer replay") {
		t.Error("the page is missing")
	}
	if head := read(profile); !strings.HasPrefix(head, "\x1f\x8b") || read(file) != log.String() {
		t.Error("the profile is missing, or the log has changed")
	}
}
