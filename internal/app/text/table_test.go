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
		fits  bool
		want  []string
	}{
		{20, true, []string{"name    n      max|", "a/path  7  x  12 ms", "b               1 s"}},
		{17, true, []string{"name  n      max|", "a/…h  7  x  12 ms", "b             1 s"}},
		{16, false, []string{"name    n", "a/path  7  x", "b"}},
		{9, false, []string{"name", "a/path  x", "b"}},
		{1, false, []string{"…", "…  x", "b"}},
	} {
		fits := table.Fit(c.width, 4)
		if got := append([]string{table.Head()}, table.Lines(0, 2)...); fits != c.fits || !slices.Equal(got, c.want) {
			t.Errorf("%d columns: %v %q, want %v %q", c.width, fits, got, c.fits, c.want)
		}
	}
	want := "| name | n | | max\\| |\n| --- | ---: | --- | ---: |\n| a/path | 7 | x | 12 ms |\n| b |  |  | 1 s |\n"
	if got := table.Markdown(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
