// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build race

package metricstest

// The race detector makes the simulation ten times slower. Fewer samples still
// find a decay that is 50 % wrong.
const (
	sampleHistograms = 20
	referenceSamples = 60
)
