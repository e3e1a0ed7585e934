// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package metricstest

const (
	sampleHistograms = 150 // the number of histograms to check
	referenceSamples = 450 // the number of samples that the reference draws
)
