// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
)

// A point is the latency in a slice of time.
type point struct {
	begin    int64   // of the slice, in ns since 1970
	at       float64 // its middle, in seconds since 1970
	p50, p99 float64 // ns
}

// A curve is the latency of a stage over time.
type curve struct {
	points []point
	width  float64 // of a slice, in seconds
}

// curveOf returns how long a stage took in each slice that has a time.
func curveOf(slices []groupby.Slice, stage string, width int64) curve {
	c := curve{width: seconds(max(width, 1))}
	for i := range slices {
		s := &slices[i]
		if s.Begin == decisionlog.NoTime {
			continue
		}
		for j := range s.Stages {
			if d := &s.Stages[j].Durations; s.Stages[j].Name == stage && d.Count() > 0 {
				q := d.AppendQuantiles(nil, 0.5, 0.99)
				c.points = append(c.points, point{s.Begin, seconds(s.Begin) + c.width/2, q[0], q[1]})
			}
		}
	}
	return c
}

// span returns the least and the largest latency. The curve is not empty.
func (c curve) span() (low, high float64) {
	low, high = math.Inf(1), 0
	for _, p := range c.points {
		low, high = min(low, p.p50), max(high, p.p99)
	}
	return low, high
}

// worst returns the point with the highest p99. The curve is not empty.
func (c curve) worst() point {
	worst := c.points[0]
	for _, p := range c.points {
		if p.p99 > worst.p99 {
			worst = p
		}
	}
	return worst
}

// runs cuts the points where slices without any are between them.
func (c curve) runs() (all [][]point) {
	for i, p := range c.points {
		if i == 0 || p.at-c.points[i-1].at > 1.5*c.width {
			all = append(all, nil)
		}
		last := &all[len(all)-1]
		*last = append(*last, p)
	}
	return all
}

// plot draws p50 and p99 as lines, and as a dot what has no neighbour.
func (c curve) plot(x, y axis) (*plot.Plot, error) {
	p := newPlot(x, y)
	for _, line := range []struct {
		ink   ink
		value func(point) float64
	}{
		{inkP99, func(p point) float64 { return p.p99 }},
		{inkP50, func(p point) float64 { return p.p50 }},
	} {
		var alone plotter.XYs
		for _, run := range c.runs() {
			xys := make(plotter.XYs, len(run))
			for i, at := range run {
				xys[i] = plotter.XY{X: at.at, Y: max(line.value(at), 1)}
			}
			if len(xys) == 1 {
				alone = append(alone, xys[0])
				continue
			}
			l, err := plotter.NewLine(xys)
			if err != nil {
				return nil, err
			}
			l.Color, l.Width = line.ink, 1.6
			p.Add(l)
		}
		if len(alone) > 0 {
			dots, err := plotter.NewScatter(alone)
			if err != nil {
				return nil, err
			}
			dots.GlyphStyle = draw.GlyphStyle{Color: line.ink, Radius: 2, Shape: draw.CircleGlyph{}}
			p.Add(dots)
		}
	}
	return p, nil
}

// latencyLegend explains the lines of latency.
var latencyLegend = []entry{{inkP50, "p50: half of the decisions took at most this"}, {inkP99, "p99: 99 of 100 took at most this"}}

// latencyFigure draws the latency of the outermost stage over time, nil if it
// has none.
func latencyFigure(r *report.Report) (*figure, error) {
	stage := report.Outermost(r.Total.Stages)
	if stage == nil {
		return nil, nil
	}
	c := curveOf(r.Slices(), stage.Name, r.Width)
	if len(c.points) == 0 {
		return nil, nil
	}
	name := labelText(stage.Name)
	q := stage.Durations.AppendQuantiles(nil, 0.5, 0.99)
	worst := c.worst()
	f := &figure{
		Name: name, Help: helpOf(stage.Name), Legend: latencyLegend,
		Note: fmt.Sprintf("p99 was highest, %s, in the slice of %s that begins at %s UTC.",
			duration(worst.p99), interval(r.Width), instant(worst.begin, text.ToTheSecond)),
	}
	text := fmt.Sprintf("Latency of %s over time. Over all, p50 is %s and p99 is %s. %s", name, duration(q[0]), duration(q[1]), f.Note)
	low, high := c.span()
	y := latencies(low, high, 7)
	return f, f.drawTwice(text, wide, narrow, func(to format) (*plot.Plot, error) { return c.plot(periodOf(c, to.ticks), y) })
}

// periodOf returns the axis of time of a curve that is not empty.
func periodOf(c curve, ticks int) axis {
	return times(c.points[0].at-c.width/2, c.points[len(c.points)-1].at+c.width/2, ticks)
}

// groupLatencyFigures draws the latency of groups over time, on the same axes.
// It leaves out groups whose decisions are all in one slice.
func groupLatencyFigures(groups []*report.Group, width int64) ([]figure, error) {
	type named struct {
		curve
		group *report.Group
		stage *groupby.Stage
	}
	var all []named
	first, last, low, high := math.Inf(1), math.Inf(-1), math.Inf(1), 0.0
	for _, g := range groups {
		stage := report.Outermost(g.Stages)
		if stage == nil {
			continue
		}
		c := curveOf(g.Slices, stage.Name, width)
		if len(c.points) < 2 {
			continue
		}
		all = append(all, named{c, g, stage})
		first, last = min(first, c.points[0].at-c.width/2), max(last, c.points[len(c.points)-1].at+c.width/2)
		l, h := c.span()
		low, high = min(low, l), max(high, h)
	}
	var figures []figure
	for _, c := range all {
		p, err := c.plot(times(first, last, small.ticks), latencies(low, high, 6))
		if err != nil {
			return nil, err
		}
		f := figure{Name: keyText(c.group.Key)}
		q := c.stage.Durations.AppendQuantiles(nil, 0.5, 0.99)
		f.Note = fmt.Sprintf("p50 %s, p99 %s of %s", duration(q[0]), duration(q[1]), text.Plural(c.group.Decisions, "decision"))
		f.Narrow, err = render(p, small.width, small.height, "Latency of "+f.Name+" over time: "+f.Note)
		if err != nil {
			return nil, err
		}
		figures = append(figures, f)
	}
	return figures, nil
}
