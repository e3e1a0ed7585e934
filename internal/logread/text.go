// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape appends the meaning of a JSON string without its quotes, as
// encoding/json does: half a surrogate becomes U+FFFD. An invalid escape stays
// as it is.
func unescape(dst, s []byte) []byte {
	for len(s) >= 8 {
		word := binary.LittleEndian.Uint64(s)
		dst = binary.LittleEndian.AppendUint64(dst, word)
		found := hasByte(word, '\\')
		if found == 0 {
			s = s[8:]
			continue
		}
		n := bits.TrailingZeros64(found) / 8
		dst, s = unescapeOne(dst[:len(dst)-8+n], s[n:])
	}
	for len(s) > 0 {
		if s[0] == '\\' {
			dst, s = unescapeOne(dst, s)
			continue
		}
		dst = append(dst, s[0])
		s = s[1:]
	}
	return dst
}

// decodeString appends the meaning of the JSON string that begins at i, and
// returns the index behind it, or -1 if it does not end in its line. It does
// the work of stringEnd and unescape in one pass, by blocks of 64 bytes. It is
// for JSON in a string, which has an escape every few bytes.
func decodeString(dst, text []byte, i int) (_ []byte, end int) {
	for i++; hasBlocks && i < len(text); {
		dst = slices.Grow(dst, 1<<10)
		n := len(dst)
		written, read := unescapeBlocks(&dst[:n+1][n], cap(dst)-n, &text[i], cap(text)-i, &kept, hasCompress)
		dst = dst[:n+written]
		if i += read; i >= len(text) {
			return dst, -1
		}
		switch text[i] {
		case '"':
			return dst, i + 1
		case '\n':
			return dst, -1
		case '\\':
			if i+1 == len(text) || text[i+1] == '\n' {
				return dst, -1
			}
			var rest []byte
			dst, rest = unescapeOne(dst, text[i:])
			for hasPrefix(rest, `\u`) { // most often there are several
				dst, rest = unescapeOne(dst, rest)
			}
			i = len(text) - len(rest)
		default:
			if read == 0 { // the text behind i is too short
				return decodeRest(dst, text, i)
			}
		}
	}
	return decodeRest(dst, text, i)
}

// decodeRest is decodeString from i on, in a string.
func decodeRest(dst, text []byte, i int) (_ []byte, end int) {
	if end = stringEnd(text, i-1); end < 0 {
		return dst, -1
	}
	return unescape(dst, text[i:end-1]), end
}

// escapes has the meaning of each byte behind a backslash, except u.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescapeOne appends the meaning of the escape that s begins with, and returns
// the text behind it.
func unescapeOne(dst, s []byte) (_, rest []byte) {
	if len(s) < 2 {
		return append(dst, s...), nil
	}
	if c := escapes[s[1]]; c != 0 {
		return append(dst, c), s[2:]
	}
	r := hexRune(s)
	if r < 0 {
		return append(dst, s[:2]...), s[2:]
	}
	s = s[6:]
	if utf16.IsSurrogate(r) {
		if both := utf16.DecodeRune(r, hexRune(s)); both != utf8.RuneError {
			return utf8.AppendRune(dst, both), s[6:]
		}
		r = utf8.RuneError
	}
	return utf8.AppendRune(dst, r), s
}

// hexRune returns the number in \u1234, or -1.
func hexRune(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	r, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(r)
}

// unquote returns the meaning of the JSON string, and whether it is valid
// UTF-8. It replaces invalid UTF-8 by U+FFFD. The result is part of s if
// possible, and otherwise appended to scratch.
func unquote(scratch, s []byte) (meaning, grown []byte, valid bool) {
	s = s[1 : len(s)-1]
	valid = utf8.Valid(s)
	if valid && bytes.IndexByte(s, '\\') < 0 {
		return s, scratch, true
	}
	start := len(scratch)
	scratch = unescape(scratch, s)
	if !valid {
		scratch = append(scratch[:start], string([]rune(string(scratch[start:])))...)
	}
	return scratch[start:len(scratch):len(scratch)], scratch, valid
}
