// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

// StepsVariable is the environment variable that tells the tests which steps of
// the series for OPA (opa/opabuild/_upstream) are in the OPA that they compare
// with: their names, with spaces between. Command upstream sets it, and builds
// the tests with such an OPA. It is empty for OPA as it is released.
const StepsVariable = "REGOMETER_UPSTREAM_STEPS"
