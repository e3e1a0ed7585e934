// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// mostMarks limits the marks on one letter, which would reach into the lines
// above and below it.
const mostMarks = 2

// Visible returns text from a log as it can be shown in a terminal: control
// characters, escape sequences, invisible runes, invalid UTF-8, marks without a
// letter, and more than two marks on one letter, are written as in a Go string.
// A backslash is too, so that no other text looks like an escape.
func Visible(s string) string {
	quoted := strconv.Quote(s)
	quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)

	var text strings.Builder
	marks := mostMarks // a mark at the start has no letter
	for _, r := range quoted {
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		if marks <= mostMarks {
			text.WriteRune(r)
			continue
		}
		escape := strconv.QuoteRuneToASCII(r)
		text.WriteString(escape[1 : len(escape)-1])
	}
	return text.String()
}

// Cut returns the beginning of text from a log, with at most some bytes and
// without a part of a rune. U+FFFD replaces invalid UTF-8.
func Cut(text []byte, most int) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Width returns the number of columns of visible text in a terminal.
func Width(s string) int { return uniseg.StringWidth(s) }

// Shorten returns visible text in at most width columns, which must be 1 or
// more. An ellipsis replaces the middle of wider text.
func Shorten(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	letters := lettersOf(s)
	head := strings.Join(fitting(letters, width/2), "")
	slices.Reverse(letters)
	tail := fitting(letters, width-1-Width(head))
	slices.Reverse(tail)
	return head + "…" + strings.Join(tail, "")
}

// lettersOf returns the letters of text, each with its marks.
func lettersOf(s string) (letters []string) {
	for g := uniseg.NewGraphemes(s); g.Next(); {
		letters = append(letters, g.Str())
	}
	return letters
}

// fitting returns the first letters, as many as fit into the width.
func fitting(letters []string, width int) []string {
	for i, letter := range letters {
		if width -= Width(letter); width < 0 {
			return letters[:i]
		}
	}
	return letters
}

// mostBytes limits the bytes of a column of visible text: a letter and its
// marks, of four bytes each.
const mostBytes = (1 + mostMarks) * 4

// Fit returns text from a log, visible and shortened to the width, which must
// be 1 or more. Its time and memory depend on the width, not on the length of
// the text.
func Fit(s string, width int) string {
	if most := width * mostBytes; len(s) > 2*most {
		s = s[:most] + "\uFFFD" + s[len(s)-most:]
	}
	return Shorten(Visible(s), width)
}
