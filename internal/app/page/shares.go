// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/sum"
	"github.com/regometer/regometer/internal/groupby"
)

// A bar is a part of the whole time.
type bar struct {
	name, value string
	share       float64
}

// bars is a plotter of horizontal bars, each below its name.
type bars []bar

// barHeight is what a bar needs with its name.
const barHeight = 34

// Plot implements plot.Plotter.
func (all bars) Plot(c draw.Canvas, _ *plot.Plot) {
	var name draw.TextStyle
	letters(&name, inkText)
	name.Handler = plot.DefaultTextHandler
	name.YAlign = draw.YTop
	value := name
	value.XAlign = draw.XRight
	top := c.Max.Y
	for _, b := range all {
		c.FillText(name, vg.Point{X: c.Min.X, Y: top}, b.name)
		c.FillText(value, vg.Point{X: c.Max.X, Y: top}, b.value)
		rectangle := func(ink ink, share float64) {
			right := c.Min.X + vg.Length(share)*(c.Max.X-c.Min.X)
			high, low := top-15, top-25
			c.FillPolygon(ink, []vg.Point{{X: c.Min.X, Y: low}, {X: c.Min.X, Y: high}, {X: right, Y: high}, {X: right, Y: low}})
		}
		rectangle(inkGrid, 1)
		rectangle(inkShare, b.share)
		top -= barHeight
	}
}

// shareFigure draws which part of the whole time each of these stages took
// itself. There is at least one.
func shareFigure(stages []report.Figures, whole groupby.Sum) (*figure, error) {
	var all bars
	for _, s := range stages {
		share := sum.Share(s.Self, whole)
		all = append(all, bar{labelText(s.Name), percent(share) + ", " + duration(sum.Float(s.Self)), min(share, 1)})
	}
	f := &figure{}
	text := "Share of the time by stage. Most is that of " + all[0].name + ": " + all[0].value
	height := vg.Length(barHeight * len(all))
	return f, f.drawTwice(text, format{wide.width, height, 0}, format{narrow.width, height, 0}, func(format) (*plot.Plot, error) {
		p := plot.New()
		p.BackgroundColor = nil
		p.HideAxes()
		p.Add(all)
		return p, nil
	})
}
