// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package logread

// eachProcessor calls read as on each kind of processor that this one can
// stand for. No other test may run at that time.
func eachProcessor(read func(processor string)) {
	blocks := hasBlocks
	defer func() { hasBlocks = blocks }()
	hasBlocks = false
	read("portable")
	if hasBlocks = blocks; hasBlocks {
		read("AVX2")
	}
}
