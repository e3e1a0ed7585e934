// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A format is how large a plot is drawn. A text in it has the size it has in a
// page that shows the plot at that width.
type format struct {
	width, height vg.Length
	ticks         int // along the horizontal axis, at most
}

// What spans the page is drawn twice: one of the two is displayed, so that text
// can be read on a phone too.
var (
	wide   = format{900, 260, 12}
	narrow = format{360, 230, 5}
	small  = format{360, 180, 5}
)

const fontSize = 11

// An axis goes from one value to another and is marked.
type axis struct {
	low, high   float64
	logarithmic bool
	ticks       []plot.Tick
	label       string
}

// newPlot returns an empty plot.
func newPlot(x, y axis) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, inkGrid
	grid.Horizontal.Width = 0.6
	p.Add(grid)
	x.put(&p.X)
	y.put(&p.Y)
	p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
	return p
}

// put makes an axis of a plot this one.
func (a axis) put(to *plot.Axis) {
	to.Min, to.Max = a.low, a.high
	if a.logarithmic {
		to.Scale = plot.LogScale{}
	}
	to.Tick.Marker = plot.ConstantTicks(a.ticks)
	to.Padding = 0
	to.LineStyle = draw.LineStyle{Color: inkAxis, Width: 0.8}
	to.Tick.LineStyle = to.LineStyle
	to.Tick.Length = 4
	letters(&to.Tick.Label, inkAxis)
	to.Label.Text = a.label
	to.Label.Padding = 3
	letters(&to.Label.TextStyle, inkAxis)
}

// letters sets the typeface and the colour of a text. The page displays another
// typeface, of the same widths where there is one.
func letters(s *text.Style, colour ink) {
	s.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: fontSize}
	s.Color = colour
}

// latencies returns a logarithmic axis of durations in ns that has room for
// these values, with at most so many marks.
func latencies(low, high float64, most int) axis {
	low, high = max(low, 1), max(high, 1)
	a := axis{low: roundDown(max(low/1.1, 1)), high: roundUp(1.1 * high), logarithmic: true}
	for _, mantissas := range [][]float64{{1, 2, 5}, {1}} {
		if a.ticks = durationTicks(a, mantissas, 1); len(a.ticks) <= most {
			return a
		}
	}
	for decades := 2; len(a.ticks) > most; decades++ {
		a.ticks = durationTicks(a, []float64{1}, decades)
	}
	return a
}

// durationTicks marks each so many powers of ten, times the mantissas.
func durationTicks(a axis, mantissas []float64, decades int) (ticks []plot.Tick) {
	for exponent := 0; exponent <= 20; exponent += decades {
		for _, m := range mantissas {
			if v := m * math.Pow10(exponent); v >= a.low && v <= a.high {
				ticks = append(ticks, plot.Tick{Value: v, Label: exactDuration(v)})
			}
		}
	}
	return ticks
}

// exactDuration formats a round number of ns.
func exactDuration(ns float64) string {
	unit, name := 1.0, " ns"
	switch {
	case ns >= 1e9:
		unit, name = 1e9, " s"
	case ns >= 1e6:
		unit, name = 1e6, " ms"
	case ns >= 1e3:
		unit, name = 1e3, " µs"
	}
	return strconv.FormatFloat(ns/unit, 'g', -1, 64) + name
}

// roundDown returns the largest of 1, 2, 5, 10, 20, … that is at most v ≥ 1.
func roundDown(v float64) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(v))))
	for _, m := range []float64{10, 5, 2} {
		if m*power <= v {
			return m * power
		}
	}
	return power
}

// roundUp returns the smallest of them that is at least v ≥ 1.
func roundUp(v float64) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(v))))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v {
			return m * power
		}
	}
	return 10 * power
}

// amounts returns an axis from 0 with room for a value, whose marks are written
// so.
func amounts(high float64, label func(float64) string) axis {
	a := axis{high: high}
	if high <= 0 {
		a.high = 1
	}
	step := math.Pow10(int(math.Floor(math.Log10(a.high))))
	for _, part := range []float64{0.2, 0.25, 0.5, 1, 2} {
		if a.high/(part*step) <= 5 {
			step *= part
			break
		}
	}
	for i := range 6 {
		if v := float64(i) * step; v <= a.high*1.0001 {
			a.ticks = append(a.ticks, plot.Tick{Value: v, Label: label(v)})
		}
	}
	a.high *= 1.05
	return a
}

// steps are distances of marks of time, in seconds.
var steps = []float64{
	1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600,
	day, 2 * day, 7 * day, 14 * day, 28 * day, 91 * day, 182 * day, 365 * day, 730 * day, 3650 * day, 18250 * day, 36500 * day,
}

const day = 24 * 3600.0

// times returns an axis of time, in seconds since 1970, with at most so many
// marks.
func times(low, high float64, most int) axis {
	a := axis{low: low, high: high, label: "time (UTC)"}
	step := steps[len(steps)-1]
	for _, s := range steps {
		if (high-low)/s <= float64(most) {
			step = s
			break
		}
	}
	for v := math.Ceil(low/step) * step; v <= high; v += step {
		at := time.Unix(int64(v), 0).UTC()
		layout := "15:04:05"
		switch {
		case high-low >= 300*day:
			layout = "Jan 2006"
		case math.Mod(v, day) == 0:
			layout = "2 Jan"
		case step >= 60:
			layout = "15:04"
		}
		a.ticks = append(a.ticks, plot.Tick{Value: v, Label: at.Format(layout)})
	}
	return a
}
