// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package metricstest

// How many samples are compared with how many of the reference.
const (
	sampleHistograms = 100
	referenceSamples = 300
)
