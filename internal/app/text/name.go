// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// mostMarks limits the marks on one letter, which would reach into the lines
// above and below it.
const mostMarks = 2

// Visible returns text from a log as it can be shown in a terminal: control
// characters, escape sequences, invisible runes, invalid UTF-8, marks without a
// letter, and more than two marks on one letter, are written as in a Go string.
// So is a backslash, so that nothing else reads like an escape.
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

// Width returns the number of columns of visible text in a terminal.
func Width(s string) int { return uniseg.StringWidth(s) }

// Shorten returns visible text of at most the width, 1 or more: if it is wider,
// an ellipsis stands for its middle.
func Shorten(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	var clusters []string
	for rest, state := s, -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		clusters = append(clusters, cluster)
	}
	head := strings.Join(fitting(clusters, width/2), "")
	slices.Reverse(clusters)
	tail := fitting(clusters, width-1-Width(head))
	slices.Reverse(tail)
	return head + "…" + strings.Join(tail, "")
}

// fitting returns as many of the clusters, from the first on, as fit.
func fitting(clusters []string, width int) []string {
	for i, c := range clusters {
		if width -= Width(c); width < 0 {
			return clusters[:i]
		}
	}
	return clusters
}

// mostBytes limits the bytes of a column of visible text: a letter and its
// marks, of four bytes each.
const mostBytes = (1 + mostMarks) * 4

// Fit returns text from a log, visible and shortened to the width, 1 or more.
// Its time and memory depend on the width, not on the length of the text.
func Fit(s string, width int) string {
	if most := width * mostBytes; len(s) > 2*most {
		s = s[:most] + "\uFFFD" + s[len(s)-most:]
	}
	return Shorten(Visible(s), width)
}
