// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "testing"

func TestCSVFormulas(t *testing.T) {
	for _, s := range []string{"=1+1", "+1", "-1", "@x", "\t=1", "\r=1"} {
		if got := csvText(s); got != "'"+s {
			t.Errorf("%q: %q", s, got)
		}
	}
	for _, s := range []string{"", "a=1", "rbac/allow", "(query)", "é", "1"} {
		if got := csvText(s); got != s {
			t.Errorf("%q: %q", s, got)
		}
	}
}
