// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !gc || purego || !amd64

package decisionlog

const hasBlocks = false

func specialBlock(*byte) uint64 { panic("there are no blocks") }

// nestedFast exists only on amd64.
func nestedFast([]byte, int) (end int, known bool) { return 0, false }
