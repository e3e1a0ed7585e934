// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"math"
	"strings"
	"testing"
)

// Points are where the axes say, and none is outside of the axes.
func TestPlace(t *testing.T) {
	c := Chart{x: Axis{Low: 10, High: 20}, y: Axis{Low: 1, High: 100, Logarithmic: true}, left: 50, right: 150, top: 10, bottom: 110}
	for value, want := range map[Point]Point{
		{10, 1}: {50, 110}, {15, 10}: {100, 60}, {20, 100}: {150, 10}, {0, 0}: {50, 110}, {1e9, 1e9}: {150, 10},
	} {
		if got := c.place(value); math.Abs(got.X-want.X) > 1e-9 || math.Abs(got.Y-want.Y) > 1e-9 {
			t.Errorf("%v is at %v, want %v", value, got, want)
		}
	}
}

// A line ends before a gap, a point alone is a dot, and bars end at the bottom.
func TestLines(t *testing.T) {
	c := New(Format{Width: 300, Height: 100}, Axis{Low: 0, High: 100}, Axis{Low: 0, High: 100})
	c.svg.Reset()
	c.Line(InkAxis, []Point{{0, 0}, {10, 100}, {21, 50}}, 10)
	c.Bars(InkGrid, 10, []Point{{0, 100}, {50, 50}})
	want := `<path class="s line i-axis" d="M0,81L27.2,11h0"></path><path class="s dot i-axis" d="M57.12,46h0"></path>` +
		`<path class="i-grid" d="M0,81V11H27.2V81ZM136,81V46H163.2V81Z"></path>`
	if drawn := c.svg.String(); drawn != want {
		t.Errorf("drawn %s, want %s", drawn, want)
	}
}

// Each mark has a line, and close marks share a text inside the chart.
func TestMarks(t *testing.T) {
	c := New(Format{Width: 300, Height: 100}, Axis{Low: 0, High: 100}, Axis{Low: 1, High: 100, Logarithmic: true})
	c.svg.Reset()
	c.Marks(InkAxis, []Mark{{99, "3"}, {50, "1"}, {98, "1"}, {97, "3"}})
	drawn := c.svg.String()
	if n := strings.Count(drawn, "<path"); n != 4 {
		t.Errorf("%d lines, want 4", n)
	}
	for _, want := range []string{`d="M136,11V81"`, `y="9">1</text>`, `y="9">3, 1</text>`} {
		if !strings.Contains(drawn, want) {
			t.Errorf("there is no %s in %s", want, drawn)
		}
	}
	c.svg.Reset()
	c.Marks(InkAxis, []Mark{{100, "1"}, {100, strings.Repeat("2", 20)}})
	if drawn := c.svg.String(); !strings.Contains(drawn, `x="219.5"`) {
		t.Errorf("a long text is not moved to the left: %s", drawn)
	}
	c.svg.Reset()
	c.Marks(InkAxis, []Mark{{50, "2"}, {50, "3"}, {50, "4"}, {56, "1"}})
	if drawn := c.svg.String(); !strings.Contains(drawn, `x="136" y="9">2, 3, 4<`) || !strings.Contains(drawn, `x="167.5" y="9">1<`) {
		t.Errorf("a text touches the one before: %s", drawn)
	}
}
