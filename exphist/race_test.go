// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package exphist

// raceDetector says that the tests run under the race detector, which is no judge
// of memory and takes ten times as long.
const raceDetector = true
