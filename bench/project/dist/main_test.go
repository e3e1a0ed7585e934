// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	t.Chdir("../../..")
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"", 2, "name one version"},
		{"v0.1.0 v0.2.0", 2, "name one version"},
		{"-platforms plan9/amd64 v0.1.0", 2, `"plan9/amd64", only for [linux/amd64 `},
		{"-nothing v0.1.0", 2, "-nothing"},
		{"-help", 0, "dist/VERSION"},
		{"-dirty banana", 1, `"banana" is no version`},
	} {
		var stderr bytes.Buffer
		if status := run(t.Context(), strings.Fields(c.args), &stderr); status != c.status || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("dist %s: status %d, want %d and %q, prints\n%s", c.args, status, c.status, c.want, &stderr)
		}
	}
}
