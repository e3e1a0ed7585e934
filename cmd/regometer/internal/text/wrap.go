// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"regexp"
	"strings"
)

// unit matches a number and its unit.
var unit = regexp.MustCompile(`(\d) (%|pp|[nµm]?s|min|h|d|[KMGT]?B)([ .,:;)]|$)`)

// noBreak is a space where no line ends.
const noBreak = "\u00a0"

// Glue puts a space where no line ends between each number and its unit.
func Glue(s string) string { return unit.ReplaceAllString(s, "$1"+noBreak+"$2$3") }

// Wrap breaks visible text into lines of at most the width, which must be 1 or
// more. It breaks between words, and within a word that is wider. A number
// stays with its unit. A letter that is wider has a line of its own.
func Wrap(s string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsFuncSeq(Glue(s), func(r rune) bool { return r == ' ' }) {
		word = strings.ReplaceAll(word, noBreak, " ")
		if line != "" && Width(line)+1+Width(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		line = word
		if Width(word) > width {
			letters := lettersOf(word)
			n := max(1, len(fitting(letters, width)))
			for ; n < len(letters); n = max(1, len(fitting(letters, width))) {
				lines, letters = append(lines, strings.Join(letters[:n], "")), letters[n:]
			}
			line = strings.Join(letters, "")
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
