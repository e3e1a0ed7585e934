// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package decisionlog

import "math/bits"

// hasBlocks is whether the processor has what nestedBlocks needs: AVX2 with its
// registers saved by the system, POPCNT and PCLMULQDQ.
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

// hasWide is whether it has what is written for AVX-512: F, BW and VL, with
// BMI1 and BMI2, and all registers saved by the system.
var hasWide = func() bool {
	const bmi1, bmi2, avx512f, avx512bw, avx512vl, zmm = 1 << 3, 1 << 8, 1 << 16, 1 << 30, 1 << 31, 0xe6
	const all = bmi1 | bmi2 | avx512f | avx512bw | avx512vl
	if !hasBlocks || xgetbv()&zmm != zmm {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&all == all
}()

// specialBlock returns a bit for each of 64 bytes that is a quote, a backslash
// or a newline.
//
//go:noescape
func specialBlock(text *byte) uint64

// prefetch brings the next 512 bytes nearer.
//
//go:noescape
func prefetch(text *byte)

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

func xgetbv() uint32

// blockState is how far nestedBlocks has come.
type blockState struct {
	depth   int
	inside  uint64 // all ones within a string
	escaped uint64 // 1 if the next byte is escaped

	// Of the block at which it stopped, a bit for each byte: brackets outside
	// of strings, newlines, and backslashes outside of strings.
	opening, closing, newlines, odd uint64
}

// nestedBlocks goes on through so many blocks of 64 bytes of an object or
// array. It stops at one that may have its end, or that has a newline or
// something odd, and returns how many are before that one.
//
// It finds strings as simdjson does (Langdale, Lemire: Parsing Gigabytes of
// JSON per Second, 2019), and counts brackets by block. Its floor is memory,
// which it asks for ahead.
//
//go:noescape
func nestedBlocks(text *byte, blocks int, opening byte, b *blockState) int

// nestedWideBlocks is nestedBlocks where hasWide says so.
//
//go:noescape
func nestedWideBlocks(text *byte, blocks int, opening byte, b *blockState) int

// nestedFast is nestedEnd of a value in one line. It says that it does not know
// where the text is too short, or odd. It is for processors that hasBlocks is
// true of, or hasWide, if it is to go the wide way.
func nestedFast(text []byte, i int, wide bool) (end int, known bool) {
	opening := text[i]
	b := blockState{depth: 1, inside: 0, escaped: 0}
	for i++; hasBlocks; i += 64 {
		blocks := (len(text) - i) / 64
		if blocks == 0 {
			break
		}
		var n int
		if wide {
			n = nestedWideBlocks(&text[i], blocks, opening, &b)
		} else {
			n = nestedBlocks(&text[i], blocks, opening, &b)
		}
		if n == blocks {
			break
		}
		i += 64 * n
		for b.closing != 0 {
			at := b.closing & -b.closing
			before := b.opening & (at - 1)
			b.opening &^= before
			b.depth += bits.OnesCount64(before) - 1
			if b.depth == 0 {
				if b.odd&(at-1) != 0 {
					return 0, false
				}
				if b.newlines&(at-1) != 0 {
					return -1, true
				}
				return i + bits.TrailingZeros64(at) + 1, true
			}
			b.closing &^= at
		}
		b.depth += bits.OnesCount64(b.opening)
		if b.odd != 0 {
			break
		}
		if b.newlines != 0 {
			return -1, true
		}
	}
	return 0, false
}
