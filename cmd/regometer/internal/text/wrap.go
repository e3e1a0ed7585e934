// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strings"
)

// Wrap breaks visible text into lines of at most the width, which must be 1 or
// more. It breaks between words, and within a word that is wider. A number
// stays with its unit. A letter that is wider has a line of its own.
func Wrap(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range words(s) {
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
			for {
				n := max(1, len(fitting(letters, width)))
				line = strings.Join(letters[:n], "")
				if letters = letters[n:]; len(letters) == 0 {
					break
				}
				lines = append(lines, line)
			}
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// words returns the words of text. A number and its unit are one word.
func words(s string) []string {
	var all []string
	for word := range strings.FieldsSeq(s) {
		last := len(all) - 1
		if unit := strings.TrimRight(word, ".,:;)"); last >= 0 && slices.Contains(units, unit) {
			all[last] += " " + word
		} else {
			all = append(all, word)
		}
	}
	return all
}

var units = []string{"%", "ns", "µs", "ms", "s", "B", "KB", "MB", "GB", "TB"}
