// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !gc || purego || !amd64

package decisionlog

const hasUnescape = false

func unescapeBlocks(*byte, int, *byte, int) (written, read int) {
	panic("strings are not unescaped in blocks")
}
