// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Package race tells tests whether they run under the race detector, which
// allocates and makes what does not concern it ten times slower.
package race

// Enabled says that they do.
const Enabled = false
