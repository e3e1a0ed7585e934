// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// Wrap breaks visible text into lines of at most the width, 1 or more, between
// words or, where a word is wider, within it. A number stays with its unit. A
// letter that is wider has a line of its own.
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
		for Width(word) > width {
			part := firstPart(word, width)
			lines, word = append(lines, part), word[len(part):]
		}
		line = word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// words returns the words of text; a number and its unit are one.
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

// firstPart returns the beginning of a word that fits, at least one letter.
func firstPart(word string, width int) string {
	end := 0
	for rest, state := word, -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if end > 0 && Width(word[:end])+Width(cluster) > width {
			break
		}
		end += len(cluster)
	}
	return word[:end]
}
