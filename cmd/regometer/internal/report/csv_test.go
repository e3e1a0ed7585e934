// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "testing"

func TestCSVText(t *testing.T) {
	for _, s := range []string{"=1+1", "+1", "-1", "@x"} {
		if got := csvText(s); got != "'"+s {
			t.Errorf("%q: %q", s, got)
		}
	}
	for _, s := range []string{"", "a=1", "rbac/allow", "(query)", "é", "1"} {
		if got := csvText(s); got != s {
			t.Errorf("%q: %q", s, got)
		}
	}
	for s, want := range map[string]string{
		"\t=1": `\t=1`, "\r\n\v": `\r\n\v`, "a\x1b[31m\x00\u0085b\x7f": `a\x1b[31m\x00\u0085b\x7f`, "a\xffb": "a\uFFFDb",
	} {
		if got := csvText(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
