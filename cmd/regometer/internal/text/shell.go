// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import "strings"

// Quote returns text without NUL as a word of a POSIX shell's command. It adds
// no backslash, so that Visible leaves the words of visible text as they are.
func Quote(s string) string {
	safe := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("%+,-./:@_", r)
	}
	if s != "" && strings.TrimLeftFunc(s, safe) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}
