// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"testing"

	opa "github.com/open-policy-agent/opa/v1/metrics"
	"github.com/regometer/regometer/metrics/metricstest"
)

// If OPA's own package fails a check of the conformance suite, the check is
// wrong.
func TestOPAConforms(t *testing.T) {
	metricstest.Run(t, opa.New, opa.NoOp, opa.Statistics)
}
