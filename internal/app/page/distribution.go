// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
)

// maxBins bounds how many bars show a distribution.
const maxBins = 60

// distributionFigure draws how long a stage took: on a logarithmic axis, how
// many of its timings are in each interval. Some of them are above 0.
func distributionFigure(s *groupby.Stage) (figure, error) {
	d := &s.Durations
	q := d.AppendQuantiles(nil, 0.5, 0.99)
	f := figure{Name: labelText(s.Name), Help: helpOf(s.Name)}
	f.Note = fmt.Sprintf("p50 %s, p99 %s, max %s of %s", duration(q[0]), duration(q[1]), duration(float64(d.Max())), text.Plural(d.Count(), "timing"))

	bars, most := binned(d)
	x := latencies(float64(d.Min()), float64(d.Max()), 6)
	y := amounts(100*most, func(v float64) string { return threeDigitsAtMost(v) + " %" })
	y.ticks = y.ticks[1:]
	p := newPlot(x, y)
	for _, b := range bars {
		low, high := min(max(b.low, x.low), x.high), min(max(b.high, x.low), x.high)
		bar, err := plotter.NewPolygon(plotter.XYs{{X: low, Y: 0}, {X: low, Y: 100 * b.share}, {X: high, Y: 100 * b.share}, {X: high, Y: 0}})
		if err != nil {
			return f, err
		}
		bar.Color, bar.LineStyle.Width = inkBar, 0
		p.Add(bar)
	}
	for i, ink := range []ink{inkP50, inkP99} {
		at := max(q[i], x.low)
		mark, err := plotter.NewLine(plotter.XYs{{X: at, Y: 0}, {X: at, Y: y.high}})
		if err != nil {
			return f, err
		}
		mark.Color, mark.Width = ink, 1.6
		if ink == inkP99 {
			mark.Dashes = []vg.Length{5, 3}
		}
		p.Add(mark)
	}
	var err error
	f.Narrow, err = render(p, small.width, small.height, "Distribution of "+f.Name+": "+f.Note)
	return f, err
}

// distributionLegend explains distributions.
var distributionLegend = []entry{{inkBar, "share of the timings, by duration"}, {inkP50, "p50"}, {inkP99, "p99 (dashed)"}}

// A bin is a share of the timings, between two durations in ns.
type bin struct{ low, high, share float64 }

// binned merges buckets until few enough are left to look at. It also returns
// the largest share.
func binned(d *exphist.Snapshot) (bins []bin, most float64) {
	first, counts := d.Buckets()
	width := 1 + (len(counts)-1)/maxBins
	place := math.MinInt
	for b := range d.All() {
		if at := (b.Index - first) / width; at != place {
			place = at
			bins = append(bins, bin{low: float64(b.Low) - 1})
		}
		last := &bins[len(bins)-1]
		last.high = float64(b.High)
		last.share += float64(b.Count) / float64(d.Count())
		most = max(most, last.share)
	}
	return bins, most
}
