// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !gc || purego || !amd64

package logread

var hasBlocks = false // a variable for the tests

var kept [257]uint64

func unescapeBlocks(*byte, int, *byte, int, *[257]uint64) (written, read int) {
	panic("there are no blocks")
}

func memberBlocks(*byte, int, int, int, *keyLine, *[fieldCount]span, *[mostFound]foundMember, *[memberWords]uint64) {
	panic("there are no blocks")
}

func nestedBlocks(*byte, int, int) int { panic("there are no blocks") }
