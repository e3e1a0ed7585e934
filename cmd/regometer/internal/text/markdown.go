// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import "strings"

// Code returns text from a log as a code span of GitHub's Markdown, where no
// character has a special meaning. It makes the text visible, and returns None
// if the text is empty. In a table, the caller must also escape bars.
func Code(s string) string {
	s = Visible(s)
	if s == "" {
		return None
	}
	longest, run := 0, 0 // of backticks
	for i := range len(s) {
		if run++; s[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 || s[0] == ' ' || s[len(s)-1] == ' ' {
		s = " " + s + " "
	}
	return fence + s + fence
}
