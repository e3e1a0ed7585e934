// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"strings"
	"testing"
)

func TestProse(t *testing.T) {
	for s, want := range map[string]string{
		"Set `cache: true` & <go>.":  "Set `cache: true` &amp; &lt;go&gt;.",
		"`a*b` c*d_e [f](g) \\ |~":   "`a*b` c\\*d\\_e \\[f\\](g) \\\\\\\\ \\|\\~",
		"one ` alone":                "one  alone",
		"`<img>` and `@x` and `#1`.": "`<img>` and `@x` and `#1`.",
	} {
		if got := prose(s); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

// TestMarkdownTables: whatever stands in the log, rows have as many cells as
// their head.
func TestMarkdownTables(t *testing.T) {
	r := sample()
	r.By = "label:a|b"
	cells, rows := 0, 0
	for line := range strings.Lines(written(t, func(w io.Writer) error { return WriteMarkdown(w, r, 0) })) {
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		rows++
		bars := strings.Count(strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\|`, ""), "|")
		if cells == 0 {
			cells = bars
		}
		if bars != cells {
			t.Errorf("%d bars, not %d: %s", bars, cells, line)
		}
	}
	if rows < 40 {
		t.Errorf("%d rows", rows)
	}
}
