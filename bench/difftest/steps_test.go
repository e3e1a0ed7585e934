// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stepsVariable is an environment variable. It names the steps of the series
// for OPA (cmd/regometer/internal/opabuild/_upstream) in the OPA that the tests compare
// with, separated by spaces. bench/upstream.sh sets the variable and builds the
// tests with this OPA. The variable is empty for a released OPA.
const stepsVariable = "REGOMETER_UPSTREAM_STEPS"

// mended reports whether the OPA of this test has a step of the series, which
// must remove a difference.
func mended(t *testing.T, step string) bool {
	t.Helper()
	found, err := filepath.Glob("../../cmd/regometer/internal/opabuild/_upstream/[0-9][0-9]-" + step)
	if err != nil || len(found) != 1 {
		t.Fatalf("the series for OPA has no step %s: %v", step, err)
	}
	return slices.Contains(strings.Fields(os.Getenv(stepsVariable)), step)
}
