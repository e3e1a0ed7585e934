// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestInks: each ink is told from the others when it is read back, and has a
// colour on light and on dark pages.
func TestInks(t *testing.T) {
	for i := range inks {
		r, g, b, a := i.RGBA()
		if a != 0xffff || g != 0 || b != 0 {
			t.Errorf("%v is %d %d %d %d", i, r, g, b, a)
		}
		name := strings.TrimPrefix(i.String(), "i-")
		if !strings.Contains(styleText, fmt.Sprintf(".%v { --ink: var(--%s); }", i, name)) {
			t.Errorf("the style sheet has no class %v", i)
		}
		if got := len(regexp.MustCompile(`--`+name+`: #`).FindAllString(styleText, -1)); got != 2 {
			t.Errorf("%v has %d colours, want one for light and one for dark pages", i, got)
		}
		got, err := inkOf(fmt.Sprintf("#%02X0000", uint8(i)))
		if err != nil || got != i {
			t.Errorf("%v is read back as %v, %v", i, got, err)
		}
	}
	if _, err := inkOf("#FFFFFF"); err == nil {
		t.Error("white is an ink")
	}
}

// TestContrast: text stands out from the page as WCAG 2 asks of text (4.5), and
// what one has to find in a plot as it asks of graphics (3).
func TestContrast(t *testing.T) {
	declaration := regexp.MustCompile(`--(\w+): (#[0-9a-f]+);`)
	schemes := strings.SplitN(styleText, "@media screen", 2)
	for i, scheme := range schemes {
		colours := map[string]float64{}
		for _, m := range declaration.FindAllStringSubmatch(scheme, -1) {
			colours[m[1]] = luminance(t, m[2])
		}
		for name, least := range map[string]float64{"text": 7, "axis": 4.5, "warning": 4.5, "p50": 3, "p99": 3, "error": 3, "denied": 3, "allowed": 3, "share": 3} {
			for _, below := range []string{"page", "panel"} {
				a, b := colours[name], colours[below]
				if got := (max(a, b) + 0.05) / (min(a, b) + 0.05); got < least && (below == "page" || least > 3) {
					t.Errorf("scheme %d: %s on %s has a contrast of %.2f, want %v", i, name, below, got, least)
				}
			}
		}
	}
}

// luminance returns the relative luminance of WCAG.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 4 {
		hex = "#" + strings.Repeat(hex[1:2], 2) + strings.Repeat(hex[2:3], 2) + strings.Repeat(hex[3:4], 2)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(v) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func TestInlineRefuses(t *testing.T) {
	for _, svg := range []string{
		`<svg><script>1</script></svg>`,
		`<svg><image href="data:,"/></svg>`,
		`<svg><path style="fill:#FFFFFF"/></svg>`,
		`<svg><path style="stroke:url(#a)"/></svg>`,
		"<svg><text>\x00</text></svg>",
		`<svg><text>&nbsp;</text></svg>`,
		`<svg><g></svg>`,
		`<svg>`,
	} {
		if out, err := inline(strings.NewReader(svg), ""); err == nil {
			t.Errorf("inline(%q) = %q", svg, out)
		}
	}
	got, err := inline(strings.NewReader(`<?xml version="1.0"?><!--c--><svg onload="x" viewBox="0 0 1 1"><path d="M0,0" id="y" style="fill:none;stroke:#030000;stroke-width:2"/></svg>`), `"<'&`)
	want := `<svg role="img" aria-label="&#34;&lt;&#39;&amp;" viewBox="0 0 1 1"><path d="M0,0" class="s i-bar" stroke-width="2"></path></svg>`
	if err != nil || string(got) != want {
		t.Errorf("inline = %q, %v, want %q", got, err, want)
	}
}
