// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

// Package race tells tests whether they run under the race detector, which
// allocates memory and makes code ten times slower.
package race

// Enabled reports whether tests run under the race detector.
const Enabled = true
