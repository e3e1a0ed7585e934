// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"flag"
	"testing"

	"github.com/regometer/regometer/e2e/harness"
)

var update = flag.Bool("update", false, "draw the pictures in docs/operating")

// endToEnd skips a test unless REGOMETER_E2E is set, and runs it beside the
// others.
func endToEnd(t *testing.T) {
	t.Helper()
	harness.Need(t)
	t.Parallel()
}

// long returns the first value, or with -short the second.
func long[T any](full, short T) T {
	if testing.Short() {
		return short
	}
	return full
}
