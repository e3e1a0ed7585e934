// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

// StepsVariable is the environment variable that names the steps of the series
// for OPA (internal/app/opabuild/_upstream) in the OPA that the tests compare
// with, with spaces between. Command upstream sets the variable and builds the
// tests with this OPA. The variable is empty for OPA as it is released.
const StepsVariable = "REGOMETER_UPSTREAM_STEPS"
