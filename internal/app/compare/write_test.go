// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/regometer/regometer/internal/app/text"
)

var update = flag.Bool("update", false, "write the golden files anew")

// shown is a comparison that has something of everything.
func shown() *Comparison {
	inf := math.Inf(1)
	p99 := Threshold{Quantile: 0.99, Stage: "rego_query_eval", Relative: 0.2}
	p999 := Threshold{Quantile: 0.999, Stage: "rego_query_eval", Key: "rbac/allow", Relative: 0.2}
	return &Comparison{
		By: "path", Intervals: 7,
		Thresholds: []Threshold{p99, p999, {Quantile: 0.5, Stage: "nothing", Relative: 0.075}},
		Rows: []Row{
			{
				Key: "rbac/allow", Stage: "rego_query_eval", Before: Side{120_000, 60}, After: Side{130_000, 65},
				Changes: []Change{
					{0.5, 1_204_567, 1_455_555, 0.20837, 0.12121, 0.30252, Slower},
					{0.99, 8_100_000, 20_250_000, 1.5, 1.01, 2.25, Slower},
					{0.999, 81e6, 202e6, 1.5, 0.1, inf, Slower},
				},
				Verdict: Slower, Impact: 32_123_456_789,
			},
			{
				Key: "library/" + strings.Repeat("very_long/", 9) + "path", Stage: "server_handler",
				Changes: []Change{
					{0.5, 900, 450, -0.5, -0.6, -0.4, Faster},
					{0.99, 5e9, 5.1e9, 0.02, -0.00001, 0.04, NoDifference},
				},
				Verdict: Faster, Impact: -5_000_000,
			},
			{
				Key: "a\x1b[31m|`b`\n<i>é", Stage: "rego_query_eval",
				Changes: []Change{
					{0.5, 100, 100, 0, -0.05, 0.08, NoDifference},
					{0.99, 999.4, 999.6, 0.0002, -1, inf, TooLittle},
				},
				Verdict: NoDifference,
			},
			{Key: "rare", Stage: "server_handler", Verdict: TooLittle, Changes: []Change{{0.5, 100, 900, 8, -1, inf, TooLittle}}},
		},
		Only: []Only{{"old/path", "", 5, 0}, {"rbac/allow", "http_send", 0, 1}},
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

func TestWrite(t *testing.T) {
	c := shown()
	for name, write := range map[string]func(w io.Writer) error{
		"table-60.golden":  func(b io.Writer) error { return c.WriteTable(b, text.Options{Width: 60}) },
		"table-80.golden":  func(b io.Writer) error { return c.WriteTable(b, text.Options{}) },
		"table-120.golden": func(b io.Writer) error { return c.WriteTable(b, text.Options{Width: 120}) },
		"table-top.golden": func(b io.Writer) error { return c.WriteTable(b, text.Options{Top: 1}) },
		"markdown.golden":  func(b io.Writer) error { return c.WriteMarkdown(b, 0) },
		"json.golden":      func(b io.Writer) error { return c.WriteJSON(b) },
		"empty.golden":     func(b io.Writer) error { return new(Comparison).WriteTable(b, text.Options{}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Error(err)
		}
		golden(t, name, b.Bytes())
	}
}

// TestTableFits: no line is wider than the width, and none has anything but
// printable characters.
func TestTableFits(t *testing.T) {
	c := shown()
	c.Rows[0].Key, c.Rows[0].Stage = "数据/许可/e\u0301", strings.Repeat("很长", 100)
	c.Only = append(c.Only, Only{strings.Repeat("很长", 100), "\u202e", 1, 0})
	for width := 60; width < 250; width++ {
		var b bytes.Buffer
		if err := c.WriteTable(&b, text.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := text.Width(line); n > width {
				t.Errorf("width %d: %d columns: %s", width, n, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("width %d: %q", width, line)
			}
		}
	}
}
