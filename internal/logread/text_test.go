// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// stringPieces are what random strings are made of.
var stringPieces = []string{
	`\"`, `\"`, `\\`, `\/`, `\n`, `\r`, `\t`, `\b`, `\f`, `\u00e4`, `\ud83d\ude00`, `\ud83d`, `\u12`, `\x`, `\ä`, "\\\x00", `\`,
	"a", "bcdefgh", "0123456789abcdef", "ä", "\x00", "\x1f\x7f", "\xff\x80", strings.Repeat(`\`, 63), strings.Repeat("plain ", 20),
}

// randomString returns a text that begins with a string, most often: it may
// end in a text that follows, have a newline, or be cut.
func randomString(r *rand.Rand) []byte {
	text := []byte(`"`)
	pieces := oneOf(r, stringPieces, stringPieces[:9]) // the first are of two bytes
	for range r.IntN(1 << r.IntN(8)) {
		text = append(text, oneOf(r, string(rune('a'+r.IntN(26))), oneOf(r, pieces...))...)
	}
	if r.IntN(8) == 0 {
		text = slices.Insert(text, 1+r.IntN(len(text)), oneOf(r, '\n', byte(r.Uint32())))
	}
	text = append(text, '"')
	for range r.IntN(40) * r.IntN(2) {
		text = append(text, oneOf(r, stringPieces...)...)
	}
	return text[:oneOf(r, 1+r.IntN(len(text)), len(text), len(text), len(text))]
}

// unescape is decodeString written for clarity, of a string without its quotes.
func unescape(dst, s []byte) []byte {
	for len(s) > 0 {
		if s[0] == '\\' {
			dst, s = unescapeOne(dst, s)
		} else {
			dst, s = append(dst, s[0]), s[1:]
		}
	}
	return dst
}
