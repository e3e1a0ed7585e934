// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/app/opabuild"
)

// mended reports whether the OPA of this test has a step of the series, which
// must remove a difference.
func mended(t *testing.T, step string) bool {
	t.Helper()
	steps, err := opabuild.Series()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(steps, func(s opabuild.Step) bool { return s.Name == step }) {
		t.Fatalf("the series for OPA has no step %s", step)
	}
	return slices.Contains(strings.Fields(os.Getenv(StepsVariable)), step)
}
