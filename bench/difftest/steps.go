// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

// StepsVariable is an environment variable. It names the steps of the series
// for OPA (internal/app/opabuild/_upstream) in the OPA that the tests compare
// with, separated by spaces. bench/upstream.sh sets the variable and builds the
// tests with this OPA. The variable is empty for a released OPA.
const StepsVariable = "REGOMETER_UPSTREAM_STEPS"
