// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package decisionlog

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
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
	if hasUnescape {
		return decodeBlocks(dst, text, i)
	}
	return decodeSpecial(dst, text, i)
}

// decodeBlocks is decodeString by unescapeBlocks, which is left for escapes
// that are rare.
func decodeBlocks(dst, text []byte, i int) (_ []byte, end int) {
	for i++; i < len(text); {
		dst = slices.Grow(dst, 1<<10)
		n := len(dst)
		written, read := unescapeBlocks(&dst[:n+1][n], cap(dst)-n, &text[i], len(text)-i)
		dst = dst[:n+written]
		if i += read; i == len(text) {
			break
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
		}
	}
	return dst, -1
}

// decodeSpecial is decodeString by specialBlock, from one escape to the next.
func decodeSpecial(dst, text []byte, i int) (_ []byte, end int) {
	const size, word = 64, 8
	i++
	for hasBlocks && len(text)-i >= size+word {
		block := i
		n := len(dst)
		dst = slices.Grow(dst, 2*size)
		dst = dst[:cap(dst)]
		for special := specialBlock(&text[block]); special != 0; special = special >> (i - block) << (i - block) {
			at := block + bits.TrailingZeros64(special)
			for ; i < at; i += word {
				copy(dst[n:n+word], text[i:i+word])
				n += word
			}
			n -= i - at
			if text[at] != '\\' || text[at+1] == '\n' {
				if text[at] != '"' {
					return dst[:n], -1
				}
				return dst[:n], at + 1
			}
			if c := text[at+1]; c == '"' || c == '\\' || c == '/' {
				dst[n] = c
				n++
				i = at + 2
			} else {
				grown, rest := unescapeOne(dst[:n], text[at:])
				n, i = len(grown), len(text)-len(rest)
			}
			if i >= block+size {
				break
			}
		}
		if i < block+size {
			for ; i < block+size; i += word {
				copy(dst[n:n+word], text[i:i+word])
				n += word
			}
			n -= i - (block + size)
			i = block + size
		}
		dst = dst[:n]
	}
	if end = stringEnd(text, i-1); end < 0 {
		return dst, -1
	}
	return unescape(dst, text[i:end-1]), end
}

// unescapeOne appends the meaning of the escape that s begins with, and returns
// the text behind it.
func unescapeOne(dst, s []byte) (_, rest []byte) {
	if len(s) < 2 {
		return append(dst, s...), nil
	}
	switch c := s[1]; c {
	case '"', '\\', '/':
		return append(dst, c), s[2:]
	case 'b':
		return append(dst, '\b'), s[2:]
	case 'f':
		return append(dst, '\f'), s[2:]
	case 'n':
		return append(dst, '\n'), s[2:]
	case 'r':
		return append(dst, '\r'), s[2:]
	case 't':
		return append(dst, '\t'), s[2:]
	case 'u':
		r := hexRune(s)
		if r < 0 {
			break
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
	return append(dst, s[:2]...), s[2:]
}

// hexRune returns the number in \u1234, or -1.
func hexRune(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	r := rune(0)
	for _, c := range s[2:6] {
		switch {
		case isDigit(c):
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
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
	if valid {
		scratch = unescape(scratch, s)
	} else {
		for _, r := range string(unescape(nil, s)) {
			scratch = utf8.AppendRune(scratch, r)
		}
	}
	return scratch[start:len(scratch):len(scratch)], scratch, valid
}
