// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/rivo/uniseg"
)

func TestVisible(t *testing.T) {
	for s, want := range map[string]string{
		"":                           "",
		"rbac/allow":                 "rbac/allow",
		`a "b" 'c'`:                  `a "b" 'c'`,
		`\`:                          `\\`,
		`\"`:                         `\\"`,
		"\x1b[31m\a\n\r\t\x7f":       `\x1b[31m\a\n\r\t\x7f`,
		"\u009b31m\u202e\u200b":      `\u009b31m\u202e\u200b`,
		"\xff\xc3":                   `\xff\xc3`,
		"数据 é 🙂":                     "数据 é 🙂",
		"e\u0301\u0301":              "e\u0301\u0301",
		"e\u0301\u0301\u0301\u0301x": "e\u0301\u0301" + `\u0301\u0301x`,
		"\u0301e\u0301":              `\u0301e` + "\u0301",
		"\u00a0":                     `\u00a0`,
	} {
		if got := Visible(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, test := range []struct {
		s    string
		most int
		want string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abc…fg"},
		{"abcdefg", 5, "ab…fg"},
		{"abcdefg", 1, "…"},
		{"abcdefg", 0, "…"},
		{"数据许可数据", 12, "数据许可数据"},
		{"数据许可数据", 11, "数据…可数据"},
		{"数据许可数据", 4, "数…"},
		{"ae\u0301ioue\u0301", 5, "ae\u0301…ue\u0301"},
	} {
		if got := Shorten(test.s, test.most); got != test.want {
			t.Errorf("%q in %d: %q, want %q", test.s, test.most, got, test.want)
		}
	}
}

// TestFit: of long text only the ends are looked at, which are those that all
// of it would have.
func TestFit(t *testing.T) {
	for _, s := range []string{
		"", "rbac/allow", "\u202e\x00", "\xff", "数据", "x\u0301\u0301\u0301\u0301", "\U0001f642", "\U0002f80a\U0001d165", `\`,
	} {
		for _, n := range []int{1, 2, 10, 1000, 5000} {
			s := "begin" + strings.Repeat(s, n) + "end"
			for _, width := range []int{1, 2, 7, 10, 40} {
				if got, want := Fit(s, width), Shorten(Visible(s), width); got != want {
					t.Errorf("%.20q × %d in %d: %q, want %q", s, n, width, got, want)
				}
			}
		}
	}
	long := strings.Repeat("e\u0301", 10_000_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	Fit(long, 10)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1_000_000 {
		t.Errorf("%d bytes were allocated for a long text", n)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"a€", "a€"}, {"xyzabc", "xyzabc"}, {"xyzabcd", "xyzabc"}, {"xyz€", "xyz€"}, {"xyza€", "xyza"}, {"xyzab€", "xyzab"},
		{"xyzabc€", "xyzabc"}, {"xyz😀", "xyz"}, {"xyz\xff\xffab", "xyz\uFFFD"}, {"\x80\x80", "\uFFFD"}, {"xyza\x80", "xyza"}, {"\x80\xe2\x82", "\uFFFD"},
	} {
		if got := string(Cut([]byte(c.text), 6)); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

// FuzzFit checks that visible text fits after Fit, Shorten and Wrap, which keep
// the rest as it is.
func FuzzFit(f *testing.F) {
	for i, s := range []string{"rbac/allow", "\x1b[31m", "\u202ex\u2066\x00", "a\xffb\xc3", "a\ufffdb", "日本語日本語", "a\u00a0b", `\n`, "e\u0301\u0301\u0301\u0301\u0301\u0301"} {
		f.Add(s, 10*i)
	}
	random := rand.New(rand.NewPCG(3, 4))
	alphabet := []string{"a", " ", "/", "数", "e\u0301", "\u0301", "🙂", "👨‍👩‍👧", "\x1b", "\xff", "\u202e", "\u1100", "🇩🇪", "\\", "%"}
	for range 500 {
		var b strings.Builder
		for range random.IntN(40) {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		f.Add(b.String(), 1+random.IntN(30))
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 2 + int(uint(width)%200)
		visible, fit := Visible(s), Fit(s, width)
		for _, line := range []string{fit, Shorten(visible, width)} {
			if Width(line) > width {
				t.Errorf("%q in %d: %q is %d wide", s, width, line, Width(line))
			}
		}
		for _, line := range Wrap(visible, width) {
			if Width(line) > width && uniseg.GraphemeClusterCount(line) > 1 { // letters are not divided
				t.Errorf("%q in %d: the line %q is %d wide", s, width, line, Width(line))
			}
		}
		if strings.ContainsFunc(visible+fit, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("Visible(%q) = %q or Fit = %q is not visible", s, visible, fit)
		}
		if plain := !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '\\' || r > '~' }); plain && len(s) <= width && fit != s {
			t.Errorf("Fit(%q, %d) = %q", s, width, fit)
		}
		without := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if got := without(strings.Join(Wrap(visible, width), "")); got != without(visible) {
			t.Errorf("%q became %q", visible, got)
		}
	})
}
