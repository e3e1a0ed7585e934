// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package output

import "testing"

func TestProse(t *testing.T) {
	for s, want := range map[string]string{
		"Set `cache: true` & <go>.":  "Set `cache: true` &amp; &lt;go&gt;.",
		"`a*b` c*d_e [f](g) \\ |~":   "`a*b` c\\*d\\_e \\[f\\](g) \\\\\\\\ \\|\\~",
		"one ` alone":                "one  alone",
		"`<img>` and `@x` and `#1`.": "`<img>` and `@x` and `#1`.",
	} {
		if got := proseOf(s); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}
