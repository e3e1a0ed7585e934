// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing but a file is replaced, and what is not whole leaves nothing behind.
func TestSample(t *testing.T) {
	dir := t.TempDir()
	sample := func(ctx context.Context, args ...string) (int, string) {
		var stderr bytes.Buffer
		return run(ctx, append([]string{"sample", "--decisions", "2000"}, args...), strings.NewReader(""), io.Discard, &stderr), stderr.String()
	}
	if status, stderr := sample(t.Context(), "-o", dir); status != 1 || !strings.Contains(stderr, "is a folder, and would be replaced") {
		t.Errorf("a folder: status %d: %s", status, stderr)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, output := range []string{filepath.Join(dir, "log"), "-"} {
		if status, stderr := sample(ended, "-o", output); status != exitInterrupted {
			t.Errorf("interrupted: status %d: %s", status, stderr)
		}
	}
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Errorf("there are %v, %v", left, err)
	}
	if status, stderr := sample(t.Context(), "-o", filepath.Join(dir, "log")); status != 0 || stderr != "" {
		t.Errorf("status %d: %s", status, stderr)
	}
	if got := filesIn(t, dir); got != "log log.truth.json" {
		t.Errorf("there are %s", got)
	}
}
