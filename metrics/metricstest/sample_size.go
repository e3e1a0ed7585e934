// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package metricstest

const (
	sampleHistograms = 100 // the histograms with a sample
	referenceSamples = 300 // the samples of the reference
)
