// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"
)

// An interrupt ends a sample.
func TestSampleInterrupted(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if status, _, stderr := call(ended, "sample", "--decisions", "2000"); status != exitInterrupted {
		t.Errorf("status %d: %s", status, stderr)
	}
}

func TestSizeOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"7": 7, "7b": 7, "2k": 2e3, "1.5MB": 15e5, "32MiB": 32 << 20, "1gib": 1 << 30, "x": -1, "-1": -1, "iB": -1} {
		if got, err := sizeOf(text); err == nil && got != want || (err != nil) != (want < 0) {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
}
