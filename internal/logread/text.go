// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package logread

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeString appends the meaning of the JSON string that begins at i, and
// returns the index behind it, or -1 if it does not end in its line. The meaning
// is that of encoding/json: half a surrogate becomes U+FFFD. An invalid escape
// stays as it is.
func decodeString(dst, text []byte, i int) (_ []byte, end int) {
	for i++; i < len(text); {
		if hasBlocks && cap(text)-i > 64 { // JSON in a string has an escape every few bytes
			dst = slices.Grow(dst, min(1<<10, len(text)-i+128))
			n := len(dst)
			written, read := unescapeBlocks(&dst[:n+1][n], cap(dst)-n, &text[i], cap(text)-i, &kept)
			dst, i = dst[:n+written], i+read
		}
		from := i
		for i < len(text) && text[i] != '"' && text[i] != '\\' && text[i] != '\n' {
			i++
		}
		dst = append(dst, text[from:i]...)
		switch {
		case i < len(text) && text[i] == '"':
			return dst, i + 1
		case i+1 >= len(text) || text[i] == '\n' || text[i+1] == '\n':
			return dst, -1
		}
		rest := text[i:]
		for escaped := true; escaped; escaped = hasPrefix(rest, `\u`) { // most often there are several
			dst, rest = unescapeOne(dst, rest)
		}
		i = len(text) - len(rest)
	}
	return dst, -1
}

// escapes has the meaning of each byte behind a backslash, except u.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescapeOne appends the meaning of the escape that s begins with, and returns
// the text behind it.
func unescapeOne(dst, s []byte) (_, rest []byte) {
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
	if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
		if r, err := strconv.ParseUint(string(s[2:6]), 16, 16); err == nil {
			return rune(r)
		}
	}
	return -1
}

// unquote returns the meaning of the JSON string, and whether it is valid
// UTF-8. It replaces invalid UTF-8 by U+FFFD. The result is part of s if
// possible.
func unquote(s []byte) (meaning []byte, valid bool) {
	valid = utf8.Valid(s)
	if valid && bytes.IndexByte(s, '\\') < 0 {
		return s[1 : len(s)-1], true
	}
	meaning, _ = decodeString(nil, s, 0)
	if !valid {
		meaning = []byte(string([]rune(string(meaning))))
	}
	return meaning, valid
}

// Meaning returns a string with its escapes resolved, and other JSON as it is.
func Meaning(value []byte) []byte {
	if hasPrefix(value, `"`) {
		value, _ = unquote(value)
	}
	return value
}

// textOf returns what a value means, or nil if it is not a string.
func textOf(value []byte) []byte {
	if !hasPrefix(value, `"`) {
		return nil
	}
	return Meaning(value)
}

// appendText appends the JSON string of a text. It keeps what is not UTF-8.
func appendText(dst, text []byte) []byte {
	return append(append(append(dst, '"'), escaper.Replace(string(text))...), '"')
}

var escaper = func() *strings.Replacer {
	pairs := []string{`"`, `\"`, `\`, `\\`}
	for c := range ' ' {
		pairs = append(pairs, string(c), fmt.Sprintf(`\u%04x`, c))
	}
	return strings.NewReplacer(pairs...)
}()
