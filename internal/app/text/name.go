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

// Visible returns text from a log as it can be shown in a terminal: control
// characters, escape sequences, invisible runes, bytes that are no UTF-8, and
// more than four marks on one letter, are written as in a Go string. So is a
// backslash, so that nothing else reads like an escape.
func Visible(s string) string {
	quoted := strconv.Quote(s)
	quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)

	var text strings.Builder
	marks := 0
	for _, r := range quoted {
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		if marks <= 4 {
			text.WriteRune(r)
			continue
		}
		escape := strconv.QuoteRuneToASCII(r)
		text.WriteString(escape[1 : len(escape)-1])
	}
	return text.String()
}

// Width returns how many columns visible text takes in a terminal.
func Width(s string) int { return uniseg.StringWidth(s) }

// Pad returns visible text with spaces after it, so that it is at least so
// wide.
func Pad(s string, width int) string { return s + spaces(width-Width(s)) }

// PadLeft is Pad with the spaces before the text.
func PadLeft(s string, width int) string { return spaces(width-Width(s)) + s }

func spaces(n int) string { return strings.Repeat(" ", max(0, n)) }

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

// mostBytes is the most that a column of visible text takes: a letter, with
// four marks, of four bytes each.
const mostBytes = 5 * 4

// Fit returns text from a log, visible and shortened to the width, 1 or more.
// However long the text is, that takes no more than the width asks for.
func Fit(s string, width int) string {
	if most := width * mostBytes; len(s) > 2*most {
		s = s[:most] + "\uFFFD" + s[len(s)-most:]
	}
	return Shorten(Visible(s), width)
}
