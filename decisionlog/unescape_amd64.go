// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build gc && !purego

package decisionlog

// hasUnescape is whether the processor has what unescapeBlocks needs: that of
// readMembers, and AVX-512 VBMI and VBMI2.
var hasUnescape = func() bool {
	const vbmi, vbmi2 = 1 << 1, 1 << 6
	if !hasWide {
		return false
	}
	_, _, c, _ := cpuid(7, 0)
	return c&(vbmi|vbmi2) == vbmi|vbmi2
}()

// unescapeBlocks writes what n bytes of text mean, which are within a JSON
// string, to dst. It stops at the quote that ends the string, at a newline, at
// an escape that is \u or none, at the end of the text, or where less than 64
// of the room bytes of dst are left. It returns how many bytes it has written,
// and how many of the text they stand for.
//
// Of dst it changes up to 63 bytes more than it has written.
//
//go:noescape
func unescapeBlocks(dst *byte, room int, text *byte, n int) (written, read int)
