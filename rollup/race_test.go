// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package rollup_test

// raceDetector says that the tests run under the race detector, which allocates
// and makes what does not concern it ten times slower.
const raceDetector = true
