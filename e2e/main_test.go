// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "draw the pictures in docs/operating")

// root is the repository's root folder.
const root = ".."

// endToEnd skips a test unless it is asked for, and runs it beside the others.
func endToEnd(t *testing.T) {
	t.Helper()
	askedFor(t)
	t.Parallel()
}

// askedFor skips a test unless it is asked for.
func askedFor(t *testing.T) {
	t.Helper()
	if os.Getenv("REGOMETER_E2E") == "" {
		t.Skip("set REGOMETER_E2E=1 to run it: it builds OPA and takes minutes")
	}
}

// long returns the first value, the second with -short.
func long[T any](full, short T) T {
	if testing.Short() {
		return short
	}
	return full
}
