// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		s    string
		most int
		want []string
	}{
		{"", 5, nil},
		{"a bc  def g", 5, []string{"a bc", "def g"}},
		{"abcdefghijk lm", 5, []string{"abcde", "fghij", "k lm"}},
		{"in abcdefgh", 5, []string{"in", "abcde", "fgh"}},
		{"take 12 ms.", 8, []string{"take", "12 ms."}},
		{"数据许可", 5, []string{"数据", "许可"}},
		{"a数据", 1, []string{"a", "数", "据"}},
	} {
		if got := Wrap(test.s, test.most); !slices.Equal(got, test.want) {
			t.Errorf("%q in %d: %q, want %q", test.s, test.most, got, test.want)
		}
	}
}
