// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package decisionlog

import "math/bits"

// hasBlocks reports whether the processor has the instructions of nestedBlocks:
// AVX2, POPCNT and PCLMULQDQ. The system must save the registers of AVX2.
var hasBlocks = func() bool {
	const popcnt, pclmulqdq, osxsave, avx2, ymm = 1 << 23, 1 << 1, 1 << 27, 1 << 5, 6
	most, _, _, _ := cpuid(0, 0)
	if most < 7 {
		return false
	}
	if _, _, c, _ := cpuid(1, 0); c&popcnt == 0 || c&pclmulqdq == 0 || c&osxsave == 0 || xgetbv()&ymm != ymm {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&avx2 != 0
}()

// specialBlock returns a bit for each of 64 bytes that is a quote, a backslash
// or a newline.
//
//go:noescape
func specialBlock(text *byte) uint64

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

func xgetbv() uint32

// The words of the state of nestedBlocks. stateInside is all ones within a
// string, and stateEscaped is 1 if the next byte is escaped. The others after
// stateEscaped describe the block at which nestedBlocks stopped. They have a
// bit for each byte: brackets outside of strings, newlines, and backslashes
// outside of strings.
const (
	stateDepth = iota
	stateInside
	stateEscaped
	stateOpening
	stateClosing
	stateNewlines
	stateOdd
	stateWords
)

// nestedBlocks reads up to the given number of blocks of 64 bytes of an object
// or array. It stops at a block that may have the end of the value, a newline
// or a backslash outside of strings. It returns the number of blocks before
// this one.
//
// It finds strings as simdjson does (Langdale, Lemire: Parsing Gigabytes of
// JSON per Second, 2019), and counts brackets by block. Its floor is memory,
// which it asks for ahead.
//
//go:noescape
func nestedBlocks(text *byte, blocks int, opening byte, state *[stateWords]uint64) int

// nestedFast returns what nestedEnd returns for a value in one line. known is
// false if the text is too short, has a backslash outside of strings, or the
// processor lacks the instructions.
func nestedFast(text []byte, i int) (end int, known bool) {
	opening := text[i]
	b := [stateWords]uint64{stateDepth: 1}
	for i++; hasBlocks; i += 64 {
		blocks := (len(text) - i) / 64
		if blocks == 0 {
			break
		}
		n := nestedBlocks(&text[i], blocks, opening, &b)
		if n == blocks {
			break
		}
		i += 64 * n
		for b[stateClosing] != 0 {
			at := b[stateClosing] & -b[stateClosing]
			before := b[stateOpening] & (at - 1)
			b[stateOpening] &^= before
			b[stateDepth] += uint64(bits.OnesCount64(before)) - 1
			if b[stateDepth] == 0 {
				if b[stateOdd]&(at-1) != 0 {
					return 0, false
				}
				if b[stateNewlines]&(at-1) != 0 {
					return -1, true
				}
				return i + bits.TrailingZeros64(at) + 1, true
			}
			b[stateClosing] &^= at
		}
		b[stateDepth] += uint64(bits.OnesCount64(b[stateOpening]))
		if b[stateOdd] != 0 {
			break
		}
		if b[stateNewlines] != 0 {
			return -1, true
		}
	}
	return 0, false
}
