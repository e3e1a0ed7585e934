// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"testing"
)

// A table shortens names, and leaves columns out in their order.
func TestTable(t *testing.T) {
	table := Table{Columns: []Column{{Title: "name", Left: true}, {Title: "n", Drop: 2}, {Left: true}, {Title: "max|", Drop: 1}}}
	table.Add("a/path", "7", "x", "12 ms")
	table.Add("b", "", "", "1 s")
	for _, c := range []struct {
		width int
		want  []string
	}{
		{20, []string{"name    n      max|", "a/path  7  x  12 ms", "b               1 s"}},
		{17, []string{"name  n      max|", "a/…h  7  x  12 ms", "b             1 s"}},
		{16, []string{"name    n", "a/path  7  x", "b"}},
		{9, []string{"name", "a/path  x", "b"}},
		{1, []string{"…", "…  x", "b"}},
	} {
		table.Fit(c.width, 4)
		if got := table.Lines(); !slices.Equal(got, c.want) {
			t.Errorf("%d columns: %q, want %q", c.width, got, c.want)
		}
	}
}
