// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package logread

// hasBlocks reports whether the processor has the instructions of the functions
// below: AVX2, BMI1, BMI2, POPCNT and PCLMULQDQ. The system must save the
// registers of AVX2.
var hasBlocks = func() bool {
	const popcnt, pclmulqdq, osxsave, avx2, bmi1, bmi2, ymm = 1 << 23, 1 << 1, 1 << 27, 1 << 5, 1 << 3, 1 << 8, 6
	if _, c := cpuid(1); c&popcnt == 0 || c&pclmulqdq == 0 || c&osxsave == 0 || xgetbv()&ymm != ymm {
		return false // osxsave says that cpuid knows 7, too
	}
	b, _ := cpuid(7)
	return b&avx2 != 0 && b&bmi1 != 0 && b&bmi2 != 0
}()

// unescapeBlocks writes the meaning of n bytes of text to dst. The text is
// within a JSON string. unescapeBlocks stops at the quote that ends the string,
// at a newline, at an escape of neither a quote nor a backslash, and where the
// text or the room has less than 64 bytes left. It returns the number of bytes
// that it has written, and of those that it has read.
//
// It may change up to 63 bytes of dst behind those that it has written.
//
//go:noescape
func unescapeBlocks(dst *byte, room int, text *byte, n int, kept *[257]uint64) (written, read int)

// kept has, for each number of eight bits, the indexes of the bits, each in a
// byte. So it says how to move bytes together.
var kept = func() (kept [257]uint64) {
	for bits := range kept {
		for i := 7; i >= 0; i-- {
			if bits>>i&1 != 0 {
				kept[bits] = kept[bits]<<8 | uint64(i)
			}
		}
	}
	return kept
}()

func cpuid(leaf uint32) (b, c uint32)

func xgetbv() uint32

// nestedBlocks returns the index behind the object or array that begins at i, by
// blocks of 64 bytes. It returns 0 if room bytes of text are too few, or if a
// newline comes before, or a backslash that is not in a string.
//
// It finds strings as simdjson does (Langdale, Lemire: Parsing Gigabytes of
// JSON per Second, 2019), and counts brackets by block. Its limit is memory,
// which it asks for ahead.
//
//go:noescape
func nestedBlocks(text *byte, i, room int) (end int)

// memberBlocks reads members of an object from the key at i on. A key must have
// followed the one before. A value must be a plain string, true, false, an
// integer of at most 16 digits, or what nestedBlocks can skip. Only a comma or a
// brace may be behind a number, blanks behind a comma, and one blank behind a
// colon. A member must end before n, though memberBlocks may look at room bytes
// of text.
//
// It stops before any other member, a field that was seen, and metrics to read.
// It writes the places of fields to spans. If spans is nil, the object is
// metrics, and all members are listed.
//
//go:noescape
func memberBlocks(text *byte, i, n, room int, lines *keyLine, spans *[fieldCount]span, found *[mostFound]foundMember, state *[memberWords]uint64)
