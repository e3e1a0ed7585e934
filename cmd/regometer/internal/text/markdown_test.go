// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import "testing"

func TestCode(t *testing.T) {
	for _, c := range []struct{ s, want string }{
		{"", "–"},
		{"rbac/allow", "`rbac/allow`"},
		{"<b>@x</b>", "`<b>@x</b>`"},
		{"a`b", "`a'b`"},
		{`a\`, "`a\\\\`"},
		{"a\nb", "`a\\nb`"},
	} {
		if got := Code(c.s); got != c.want {
			t.Errorf("%q: %s, want %s", c.s, got, c.want)
		}
	}
}
