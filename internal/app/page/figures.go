// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/app/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/rollup"
)

// A figure is a chart with the text beside it.
type figure struct {
	Name, Help   string // above it; the name is that of a stage or of a group
	Legend       []entry
	Wide, Narrow template.HTML // Wide is empty if one chart serves all screens
	Note         string        // below it
}

// An entry explains a colour.
type entry struct {
	Ink  ink
	Text string
}

// Legend explains the distributions.
func (v *view) Legend() []entry {
	return []entry{{inkBar, "share of the timings, by duration"}, {inkP50, "p50"}, {inkP99, "p99 (dashed)"}}
}

// latencyLegend explains the latency.
var latencyLegend = []entry{{inkP50, "p50: half of the decisions took at most this long"}, {inkP99, "p99: 99 of 100 took at most this long"}}

// distributionFigure draws how long a stage took. For each interval of a
// logarithmic axis it shows the share of the timings. At least one timing must
// be above 0.
func distributionFigure(s *groupby.Stage) figure {
	d := &s.Durations
	q := d.AppendQuantiles(nil, 0.5, 0.99)
	f := figure{Name: labelText(s.Name), Help: helpOf(s.Name)}
	f.Note = fmt.Sprintf("p50 %s, p99 %s, max %s of %s", duration(q[0]), duration(q[1]), duration(float64(d.Max())), text.Plural(d.Count(), "timing"))

	bars, most := binned(d)
	y := amounts(100*most, func(v float64) string { return threeDigitsAtMost(v) + " %" })
	y.ticks = y.ticks[1:]
	c := newChart(small, latencies(float64(d.Min()), float64(d.Max()), 6), y)
	for _, b := range bars {
		c.area(inkBar, []xy{{b.low, 0}, {b.low, 100 * b.share}, {b.high, 100 * b.share}, {b.high, 0}})
	}
	c.line(inkP50, []xy{{q[0], 0}, {q[0], y.high}})
	c.path("s line dashed i-p99", c.outline([]xy{{q[1], 0}, {q[1], y.high}}))
	f.Narrow = c.html("Distribution of " + f.Name + ": " + f.Note)
	return f
}

// maxBins limits the bars that show a distribution.
const maxBins = 60

// A bin is a share of the timings, between two durations in ns.
type bin struct{ low, high, share float64 }

// binned merges buckets into at most maxBins bins. It also returns the largest
// share.
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

// Latency draws the latency of the outermost stage over time. It returns nil if
// no slice of time has the stage.
func (v *view) Latency() *figure {
	c := curveOf(report.Outermost(v.Total.Stages), v.Slices(), v.Width)
	if len(c.points) == 0 {
		return nil
	}
	worst := slices.MaxFunc(c.points, func(a, b point) int { return cmp.Compare(a.p99, b.p99) })
	name := labelText(c.stage.Name)
	f := &figure{
		Name: name, Help: helpOf(c.stage.Name), Legend: latencyLegend,
		Note: fmt.Sprintf("p99 was highest, %s, in the slice of %s that begins at %s UTC.",
			duration(worst.p99), duration(float64(v.Width)), instant(worst.begin, text.ToTheSecond)),
	}
	text := fmt.Sprintf("Latency of %s over time. Over all, %s. %s", name, c.quantiles(), f.Note)
	f.Wide, f.Narrow = c.draw(wide, 7, c).html(text), c.draw(narrow, 7, c).html(text)
	return f
}

// GroupLatencies draws the latency of the slowest groups over time, on the same
// axes. It leaves out groups whose decisions are all in one slice.
func (v *view) GroupLatencies() (figures []figure) {
	var curves []curve
	for _, g := range v.slow[:min(len(v.slow), maxCurves)] {
		c := curveOf(report.Outermost(g.Stages), g.Slices, v.Width)
		if len(c.points) < 2 {
			continue
		}
		curves = append(curves, c)
		figures = append(figures, figure{Name: keyText(g.Key), Note: c.quantiles() + " of " + text.Plural(g.Decisions, "decision")})
	}
	for i, c := range curves {
		f := &figures[i]
		f.Narrow = c.draw(small, 6, curves...).html("Latency of " + f.Name + " over time: " + f.Note)
	}
	return figures
}

// A curve is the latency of a stage over time.
type curve struct {
	stage  *groupby.Stage
	points []point
	width  float64 // of a slice, in seconds
}

// A point is the latency in a slice of time.
type point struct {
	begin    int64   // of the slice, in ns since 1970
	at       float64 // its middle, in seconds since 1970
	p50, p99 float64 // ns
}

// seconds converts ns since 1970.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// curveOf returns the latency of a stage in each slice that has a time. It is
// empty if the stage is nil.
func curveOf(stage *groupby.Stage, slices []groupby.Slice, width int64) curve {
	c := curve{stage: stage, width: seconds(max(width, 1))}
	for i := range slices {
		s := &slices[i]
		for j := range s.Stages {
			d := &s.Stages[j].Durations
			if stage != nil && s.Stages[j].Name == stage.Name && s.Begin != decisionlog.NoTime && d.Count() > 0 {
				q := d.AppendQuantiles(nil, 0.5, 0.99)
				c.points = append(c.points, point{s.Begin, seconds(s.Begin) + c.width/2, q[0], q[1]})
			}
		}
	}
	return c
}

// quantiles writes the latency over all time.
func (c curve) quantiles() string {
	q := c.stage.Durations.AppendQuantiles(nil, 0.5, 0.99)
	return fmt.Sprintf("p50 %s, p99 %s", duration(q[0]), duration(q[1]))
}

// runs splits the points where slices without a point are between them.
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

// draw draws p50 and p99 as lines, and points without neighbours as dots, on
// axes that have room for all curves. The vertical axis has at most the given
// number of marks.
func (c curve) draw(f format, marks int, curves ...curve) *chart {
	first, last, low, high := math.Inf(1), math.Inf(-1), math.Inf(1), 0.0
	for _, o := range curves {
		for _, p := range o.points {
			first, last = min(first, p.at-c.width/2), max(last, p.at+c.width/2)
			low, high = min(low, p.p50), max(high, p.p99)
		}
	}
	drawn := newChart(f, times(first, last, f.ticks), latencies(low, high, marks))
	for _, ink := range []ink{inkP99, inkP50} {
		for _, run := range c.runs() {
			var points []xy
			for _, p := range run {
				at := xy{p.at, p.p50}
				if ink == inkP99 {
					at.y = p.p99
				}
				points = append(points, at)
			}
			if len(points) == 1 {
				drawn.dot(ink, points[0])
			} else {
				drawn.line(ink, points)
			}
		}
	}
	return drawn
}

// OutcomesOverTime draws the decisions of each outcome in each slice of time,
// on top of one another. It returns nil if no decision has a time.
func (v *view) OutcomesOverTime() *figure {
	const outcomes = len(v.Total.Outcomes)
	width := seconds(max(v.Width, 1))
	var begins []float64
	var heights [][outcomes]float64 // of each slice, with those below
	var most float64
	for i := range v.Total.Slices {
		s := &v.Total.Slices[i]
		if s.Begin == decisionlog.NoTime {
			continue
		}
		var h [outcomes]float64
		all := 0.0
		for o, n := range s.Outcomes {
			all += float64(n)
			h[o] = all / width
		}
		begins, heights, most = append(begins, seconds(s.Begin)), append(heights, h), max(most, all/width)
	}
	if len(begins) == 0 {
		return nil
	}
	f := &figure{Note: fmt.Sprintf("Each step is %s. The highest rate was %s decisions a second.", duration(float64(v.Width)), threeDigitsAtMost(most))}
	text := "Outcomes over time, stacked: " + f.Note
	for o, total := range v.Total.Outcomes {
		if total > 0 {
			e := entry{inkOf(o), fmt.Sprintf("%s %s", rollup.Outcome(o), percent(report.Ratio(total, v.Total.Decisions)))}
			f.Legend = append(f.Legend, e)
			text += " " + e.Text + "."
		}
	}
	y := amounts(most, threeDigitsAtMost)
	y.label = "decisions a second"
	draw := func(to format) template.HTML {
		c := newChart(to, times(begins[0], begins[len(begins)-1]+width, to.ticks), y)
		// From the top down, because each area covers the lower part of the one
		// before.
		for o := outcomes - 1; o >= 0; o-- {
			if v.Total.Outcomes[o] > 0 {
				c.area(inkOf(o), stairs(begins, width, func(i int) float64 { return heights[i][o] }))
			}
		}
		return c.html(text)
	}
	f.Wide, f.Narrow = draw(wide), draw(narrow)
	return f
}

func inkOf(outcome int) ink { return ink(rollup.Outcome(outcome).String()) }

// stairs returns the outline of the area below a height in each slice of time.
func stairs(begins []float64, width float64, height func(int) float64) []xy {
	outline := []xy{{begins[0], 0}}
	add := func(p xy) {
		if p != outline[len(outline)-1] {
			outline = append(outline, p)
		}
	}
	for i, begin := range begins {
		if i > 0 && begin > begins[i-1]+1.5*width {
			add(xy{begins[i-1] + width, 0})
			add(xy{begin, 0})
		}
		add(xy{begin, height(i)})
		add(xy{begin + width, height(i)})
	}
	add(xy{begins[len(begins)-1] + width, 0})
	return outline
}

// Shares draws the share of each stage's self time in the whole time. It
// returns nil if there is no stage.
func (v *view) Shares() *figure {
	const barHeight = 34 // with the name above the bar
	if len(v.stages) == 0 {
		return nil
	}
	shown, more := atMost(v.stages, maxShares)
	draw := func(width float64) *chart {
		c := &chart{format: format{width: width, height: barHeight * float64(len(shown))}}
		for i, s := range shown {
			top, share := barHeight*float64(i), report.Share(s.Self, v.Total.Time)
			c.text(inkText, "start", 0, top+fontSize, labelText(s.Name))
			c.text(inkText, "end", width, top+fontSize, percent(share)+", "+duration(report.Float(s.Self)))
			c.path("i-grid", fmt.Sprintf("M0,%gh%gv10H0Z", top+15, width))
			c.path("i-share", fmt.Sprintf("M0,%gh%.5gv10H0Z", top+15, width*min(share, 1)))
		}
		return c
	}
	text := fmt.Sprintf("Share of the time by stage. The largest is that of %s: %s", labelText(shown[0].Name), percent(report.Share(shown[0].Self, v.Total.Time)))
	return &figure{Wide: draw(wide.width).html(text), Narrow: draw(narrow.width).html(text), Note: moreOf(more, "stage")}
}
