// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/chart"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/stages"
	"github.com/regometer/regometer/outcome"
)

// The style sheet has a colour for light pages and one for dark pages for each
// of these inks. Each outcome has an ink of its name.
const (
	inkText chart.Ink = "text"
	inkP50  chart.Ink = "p50"
	inkP99  chart.Ink = "p99"
)

// The limits of the charts on the page of a report.
const (
	maxMarks  = 9 // findings whose times are in charts
	maxCurves = 6 // charts of groups
)

// enough is the number of decisions with a p99 that says something.
const enough = 100

type outcomes = [len(report.Group{}.Outcomes)]uint64

// A view is a report that is written to a page.
type view struct {
	*report.Report
	*Document
}

// within reads the time of a finding. It returns false if the time is that of
// the first or the last decision, or near it.
func (v view) within(t string) (ns int64, ok bool) {
	at, err := time.Parse(time.RFC3339Nano, t)
	ns = at.UnixNano()
	from, to := seconds(v.From), seconds(v.To)
	return ns, err == nil && min(seconds(ns)-from, to-seconds(ns)) > (to-from)/100
}

// marks returns the times at which the first findings begin and end within the
// log, with the numbers of the findings. If the path is not empty, it leaves
// out findings about other paths.
func (v view) marks(path string) (all []chart.Mark) {
	for i, f := range v.Findings[:min(len(v.Findings), maxMarks)] {
		if path != "" && f.Path != "" && f.Path != path {
			continue
		}
		for _, t := range []string{f.From, f.To} {
			if ns, ok := v.within(t); ok {
				all = append(all, chart.Mark{At: seconds(ns), Label: strconv.Itoa(i + 1)})
			}
		}
	}
	return all
}

// marksNote explains the marks in charts over time.
func (v view) marksNote() string {
	if len(v.marks("")) == 0 {
		return ""
	}
	return " Each numbered line is where the finding with this number begins or ends."
}

// shares returns the outcomes of all decisions with their shares and numbers.
func (v view) shares() (all []entry) {
	for o, n := range v.Total.Outcomes {
		if n > 0 {
			all = append(all, entry{inkOf(o), wordOf(o) + " " + text.Percent(report.Ratio(n, v.Total.Decisions)) + " (" + text.Count(n) + ")"})
		}
	}
	return all
}

func inkOf(o int) chart.Ink { return chart.Ink(outcome.Outcome(o).String()) }

func wordOf(o int) string { return report.OutcomeWord(outcome.Outcome(o)) }

// latencyLegend explains the latency.
var latencyLegend = []entry{{inkP50, "p50: half of the decisions took at most this long"}, {inkP99, "p99: 99 of 100 took at most this long"}}

// writeLatency draws the latency of the outermost stage over time, and that of
// the groups with the most time, on the same axes as one another. It leaves out
// groups whose decisions are all in one slice.
func (v view) writeLatency() {
	v.Title("Latency over time")
	if c := curveOf(report.Outermost(v.Total.Stages), v.Slices(), v.Width); len(c.points) > 0 {
		worst := slices.MaxFunc(c.points, func(a, b point) int { return cmp.Compare(a.p99, b.p99) })
		f := figure{
			Name: c.stage.Name, Help: helpOf(c.stage.Name), Legend: latencyLegend,
			Note: fmt.Sprintf("Of the slices drawn, the one of %s that begins at %s UTC has the highest p99, %s.",
				text.LongDuration(float64(v.Width)), text.Time(worst.begin, text.ToTheSecond), text.Duration(worst.p99)) + v.marksNote(),
		}
		v.add(block{Figures: []figure{f.draw(fmt.Sprintf("Latency of %s over time. Over all, %s. %s", nameText(f.Name), c.quantiles(), f.Note),
			func(to chart.Format) *chart.Chart { return c.draw(to, v.marks(""), c) })}})
	} else {
		v.Prose("No decision has both a time and a timing.")
	}
	var figures []figure
	var curves []curve
	for i := range min(v.Groups.Len(), maxCurves) {
		g := v.Groups.At(i)
		if c := curveOf(report.Outermost(g.Stages), g.Slices, v.Groups.Width); len(c.points) > 1 {
			curves = append(curves, c)
			figures = append(figures, figure{Name: g.Key, Note: c.quantiles() + " of " + text.Plural(g.Decisions, "decision")})
		}
	}
	if figures == nil {
		return
	}
	for i, c := range curves {
		f := &figures[i]
		f.Narrow = c.draw(small, v.marks(f.Name), curves...).HTML("Latency of " + nameText(f.Name) + " over time: " + f.Note)
	}
	v.Prose("The groups with the most time, all on the same axes:")
	v.add(block{Figures: figures})
}

// helpOf describes a stage of OPA. It returns "" for other stages.
func helpOf(stage string) string {
	for _, s := range stages.DefaultStages() {
		if s.Name == stage {
			return s.Help
		}
	}
	return ""
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
	timings  uint64
}

// seconds converts ns since 1970.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// curveOf returns the latency of a stage in each slice that has a time, except
// a short one at an end. It is empty if the stage is nil.
func curveOf(stage *groupby.Stage, parts []groupby.Slice, width int64) curve {
	c := curve{stage: stage, width: seconds(max(width, 1))}
	parts = report.Timed(parts)
	for i := 0; i < len(parts) && stage != nil; i++ {
		begin, d := parts[i].Begin, &report.Stage(parts[i].Stages, stage.Name).Durations
		if d.Count() > 0 {
			q := d.AppendQuantiles(nil, 0.5, 0.99)
			c.points = append(c.points, point{begin, seconds(begin) + c.width/2, q[0], q[1], d.Count()})
		}
	}
	// The log may begin or end within a slice. With few timings, p99 would seem
	// to fall there.
	for range 2 {
		if n := len(c.points); n > 2 && c.points[n-1].timings < min(enough, c.points[n-2].timings/2) {
			c.points = c.points[:n-1]
		}
		slices.Reverse(c.points)
	}
	return c
}

// quantiles writes the latency over all time.
func (c curve) quantiles() string {
	q := c.stage.Durations.AppendQuantiles(nil, 0.5, 0.99)
	return fmt.Sprintf("p50 %s, p99 %s", text.Duration(q[0]), text.Duration(q[1]))
}

// draw draws p50 and p99 on axes that have room for all curves, and marks. The
// lines end where slices have no point.
func (c curve) draw(f chart.Format, marks []chart.Mark, curves ...curve) *chart.Chart {
	first, last, low, high := math.Inf(1), math.Inf(-1), math.Inf(1), 0.0
	for _, o := range curves {
		for _, p := range o.points {
			first, last = min(first, p.at-c.width/2), max(last, p.at+c.width/2)
			low, high = min(low, p.p50), max(high, p.p99)
		}
	}
	drawn := chart.New(f, chart.Times(first, last, f.Ticks), chart.Durations(low, high, 10))
	var p50, p99 []chart.Point
	for _, p := range c.points {
		p50, p99 = append(p50, chart.Point{p.at, p.p50}), append(p99, chart.Point{p.at, p.p99})
	}
	drawn.Line(inkP99, p99, 1.5*c.width)
	drawn.Line(inkP50, p50, 1.5*c.width)
	drawn.Marks(inkText, marks)
	return drawn
}

// writeOutcomes draws the decisions of each outcome in each slice of time, on top
// of one another.
func (v view) writeOutcomes() {
	v.Title("Outcomes over time")
	width := seconds(max(v.Width, 1))
	var bars [len(outcomes{})][]chart.Point // of each slice, with those below
	most, parts := 0.0, report.Timed(v.Total.Slices)
	for _, s := range parts {
		all, over := 0.0, v.rateOver(s.Begin)
		for o, n := range s.Outcomes {
			all += float64(n) / over
			bars[o] = append(bars[o], chart.Point{seconds(s.Begin), all})
		}
		most = max(most, all)
	}
	if len(parts) == 0 {
		v.Prose("No decision has a time.")
		return
	}
	f := figure{Legend: v.shares(), Note: fmt.Sprintf("Each step is %s. The highest rate was %s decisions a second.", text.LongDuration(float64(v.Width)), threeDigits(most)) + v.marksNote()}
	text := "Outcomes over time, stacked: " + f.Note
	for _, e := range f.Legend {
		text += " " + e.Text + "."
	}
	y := chart.Amounts(most, threeDigits)
	y.Label = "decisions a second"
	v.add(block{Figures: []figure{f.draw(text, func(to chart.Format) *chart.Chart {
		c := chart.New(to, chart.Times(seconds(parts[0].Begin), seconds(parts[len(parts)-1].Begin)+width, to.Ticks), y)
		// From the top down, because each bar covers the lower part of the one
		// before.
		for o := len(outcomes{}) - 1; o >= 0; o-- {
			if v.Total.Outcomes[o] > 0 {
				c.Bars(inkOf(o), width, bars[o])
			}
		}
		c.Marks(inkText, v.marks(""))
		return c
	})}})
}

// rateOver returns the seconds of a slice for its rate: those between the first and
// the last decision of the log, which are fewer at its ends. A second is the
// least, because a moment shows no rate.
func (v view) rateOver(begin int64) float64 {
	width, from, to := seconds(max(v.Width, 1)), seconds(v.From), seconds(v.To)
	within := min(seconds(begin)+width, to) - max(seconds(begin), from)
	return cmp.Or(max(within, min(1, to-from)), width)
}

// threeDigits formats a number with three digits, without zeros at its end.
func threeDigits(v float64) string {
	if v >= 1000 {
		return text.Count(uint64(min(math.Round(v), 1e18)))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
