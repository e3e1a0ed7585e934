// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package metrics_test

// raceDetector says that the tests run under the race detector, which allocates
// and makes what does not concern it ten times slower. It is not the constant
// of internal/race, since these tests go into OPA with the package.
const raceDetector = true
