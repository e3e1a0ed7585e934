// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"
	"testing"
)

// An interrupted sample leaves nothing behind.
func TestSampleInterrupted(t *testing.T) {
	dir := t.TempDir()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, output := range []string{filepath.Join(dir, "log"), "-"} {
		if status, _, stderr := call(ended, "sample", "--decisions", "2000", "-o", output); status != exitInterrupted {
			t.Errorf("status %d: %s", status, stderr)
		}
	}
	if left := filesIn(dir); left != "" {
		t.Errorf("there are %s", left)
	}
}
