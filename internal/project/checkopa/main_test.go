// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/regometer/regometer/opa/opabuild"
)

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		review opabuild.Review
		done   bool
		want   string
	}{
		{opabuild.Review{OPA: "v1.22.9", Known: true}, true, "OPA v1.22.9 fits"},
		{opabuild.Review{OPA: "v1.22.9", Known: true, Findings: []string{"one", "two"}}, false, "\n- one\n- two\nCONTRIBUTING.md"},
		{opabuild.Review{OPA: "v1.99.0", Findings: []string{"one"}}, false, "OPA v1.99.0 needs work"},
		{opabuild.Review{OPA: "v1.99.0"}, false, "only what a build"},
	} {
		if text, done := verdict(&c.review); done != c.done || !strings.Contains(text, c.want) {
			t.Errorf("%+v: done: %t, want %t and %q, prints\n%s", c.review, done, c.done, c.want, text)
		}
	}
}

func TestIsKnown(t *testing.T) {
	for release, want := range map[string]bool{
		opabuild.OldestVersion: true, opabuild.NewestVersion: true, opabuild.UpstreamVersion: true,
		opabuild.UpstreamVersion + "9": false, "v1.999.0": false, "v2.0.0": false,
	} {
		if isKnown(release) != want {
			t.Errorf("%s is known: %t, want %t", release, !want, want)
		}
	}
}

func TestFailures(t *testing.T) {
	for args, want := range map[string]string{"-help": "Usage", "a b": "Usage", "0.68.0": "too old", "./nowhere": "nowhere"} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), strings.Fields(args), &stdout, &stderr); status != exitFailure || !strings.Contains(stderr.String(), want) {
			t.Errorf("checkopa %s: status %d, prints\n%s", args, status, &stderr)
		}
	}
}
