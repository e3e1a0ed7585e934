// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/sum"
)

// outcomesFigure draws how many decisions of each outcome there are in each
// slice of time, on top of one another; nil if none has a time.
func outcomesFigure(r *report.Report) (*figure, error) {
	width := seconds(max(r.Width, 1))
	var begins []float64
	var heights [][len(outcomes)]float64 // of each slice, with those below
	var most float64
	for i := range r.Total.Slices {
		s := &r.Total.Slices[i]
		if s.Begin == decisionlog.NoTime {
			continue
		}
		var h [len(outcomes)]float64
		all := 0.0
		for o := range outcomes {
			all += float64(s.Outcomes[o])
			h[o] = all / width
		}
		begins, heights, most = append(begins, seconds(s.Begin)), append(heights, h), max(most, all/width)
	}
	if len(begins) == 0 {
		return nil, nil
	}
	f := &figure{Note: fmt.Sprintf("Each step is %s. The most were %s decisions a second.", interval(r.Width), threeDigitsAtMost(most))}
	text := "Outcomes over time, stacked: " + f.Note
	for o, total := range r.Total.Outcomes {
		if total > 0 {
			part := fmt.Sprintf("%s %s", outcomes[o], percent(sum.Ratio(total, r.Total.Decisions)))
			f.Legend = append(f.Legend, entry{inkAllowed + ink(o), part})
			text += " " + part + "."
		}
	}
	y := amounts(most, threeDigitsAtMost)
	y.label = "decisions a second"
	return f, f.drawTwice(text, wide, narrow, func(to format) (*plot.Plot, error) {
		p := newPlot(times(begins[0], begins[len(begins)-1]+width, to.ticks), y)
		// From the top down: each covers the lower part of the one before.
		for o := len(outcomes) - 1; o >= 0; o-- {
			if r.Total.Outcomes[o] == 0 {
				continue
			}
			area, err := plotter.NewPolygon(stairs(begins, width, func(i int) float64 { return heights[i][o] }))
			if err != nil {
				return nil, err
			}
			area.Color, area.LineStyle.Width = inkAllowed+ink(o), 0
			p.Add(area)
		}
		return p, nil
	})
}

// stairs returns the outline of the area below a height in each slice of time.
func stairs(begins []float64, width float64, height func(int) float64) plotter.XYs {
	outline := plotter.XYs{{X: begins[0], Y: 0}}
	to := func(x, y float64) {
		if last := outline[len(outline)-1]; last.X != x || last.Y != y {
			outline = append(outline, plotter.XY{X: x, Y: y})
		}
	}
	for i, begin := range begins {
		if i > 0 && begin > begins[i-1]+1.5*width {
			to(begins[i-1]+width, 0)
			to(begin, 0)
		}
		to(begin, height(i))
		to(begin+width, height(i))
	}
	to(begins[len(begins)-1]+width, 0)
	return outline
}
