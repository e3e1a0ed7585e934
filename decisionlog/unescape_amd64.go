// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package decisionlog

// hasUnescape reports whether the processor has the instructions of
// unescapeBlocks: BMI1, BMI2, and AVX-512 F, BW, VL, VBMI and VBMI2. The system
// must save all registers.
var hasUnescape = func() bool {
	const bmi1, bmi2, avx512f, avx512bw, avx512vl, vbmi, vbmi2, zmm = 1 << 3, 1 << 8, 1 << 16, 1 << 30, 1 << 31, 1 << 1, 1 << 6, 0xe6
	const all = bmi1 | bmi2 | avx512f | avx512bw | avx512vl
	if !hasBlocks || xgetbv()&zmm != zmm {
		return false
	}
	_, b, c, _ := cpuid(7, 0)
	return b&all == all && c&(vbmi|vbmi2) == vbmi|vbmi2
}()

// unescapeBlocks writes the meaning of n bytes of text to dst. The text is
// within a JSON string. unescapeBlocks stops at the quote that ends the string,
// at a newline, at \u or an invalid escape, at the end of the text, or if dst
// has less than 64 bytes left of room. It returns the number of bytes that it
// has written, and of those that it has read.
//
// It may change up to 63 bytes of dst behind those that it has written.
//
//go:noescape
func unescapeBlocks(dst *byte, room int, text *byte, n int) (written, read int)
