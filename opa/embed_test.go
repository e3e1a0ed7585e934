// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package opa_test

import (
	"os"
	"testing"

	"github.com/open-policy-agent/opa/v1/version"
)

// TestOPAVersion checks that the tests run with the version of OPA that the
// caller wants. The Makefile runs them with both ends of the range.
func TestOPAVersion(t *testing.T) {
	t.Logf("OPA %s", version.Version)
	if want := os.Getenv("REGOMETER_WANT_OPA"); want != "" && want != "v"+version.Version {
		t.Errorf("these tests ran with OPA v%s, want %s", version.Version, want)
	}
}
