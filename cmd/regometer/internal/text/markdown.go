// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import "strings"

// Code returns text from a log as a code span of GitHub's Markdown, where no
// character has a special meaning. It makes the text visible, with ' in place of
// a backtick, and returns None if the text is empty. In a table, the caller must
// also escape bars.
func Code(s string) string {
	if s == "" {
		return None
	}
	return "`" + strings.ReplaceAll(Visible(s), "`", "'") + "`"
}
