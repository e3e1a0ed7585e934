// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// colours are told apart by the colour-blind too (Okabe and Ito).
var colours = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{230, 159, 0, 255}, {86, 180, 233, 255}, {90, 90, 90, 255}, {240, 228, 66, 255},
}

// svg draws a chart with its legend to the right.
func svg(t *testing.T, chart *plot.Plot) []byte {
	t.Helper()
	const width, height, legendWidth, margin = 24 * vg.Centimeter, 9 * vg.Centimeter, 130, 6
	legend := chart.Legend
	chart.Legend = plot.NewLegend()
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	chart.Draw(draw.Crop(all, margin, -legendWidth-margin, margin, -margin))
	legend.Draw(draw.Crop(all, width-legendWidth, -margin, margin, -32))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	// Not everybody has the typeface that the text was measured in.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif"))
}

// newChart returns an empty chart of a panel over the time of the work.
func newChart(p panel, f *fleet) *plot.Plot {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	chart := plot.New()
	chart.Title.Text = p.Title
	chart.Title.TextStyle.Font.Size = 13
	chart.Title.Padding = 6
	chart.X.Min, chart.X.Max = 0, f.end.Sub(f.start).Seconds()
	chart.X.Tick.Marker = plot.TickerFunc(minutes)
	chart.X.Label.Text = "time, minutes:seconds"
	chart.Y.Label.Text = map[string]string{"s": "seconds", "reqps": "per second", "ops": "per second", "percentunit": "share"}[p.unit()]
	chart.Legend.Top, chart.Legend.Left = true, true
	chart.Legend.TextStyle.Font.Size = 9
	chart.Legend.Padding, chart.Legend.ThumbnailWidth = 4, 14
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{230}, color.Gray{230}
	chart.Add(grid)
	return chart
}

// minutes marks the axis of time.
func minutes(low, high float64) []plot.Tick {
	step := 5.0
	for (high-low)/step > 12 {
		step *= 2
		if step == 20 || step == 80 {
			step *= 1.5
		}
	}
	var ticks []plot.Tick
	for s := low; s <= high; s += step {
		ticks = append(ticks, plot.Tick{Value: s, Label: fmt.Sprintf("%d:%02d", int(s)/60, int(s)%60)})
	}
	return ticks
}

// A curve is one series of a panel.
type curve struct {
	name   string
	points plotter.XYs // seconds since the work began
}

// curves evaluates a panel's queries.
func curves(t *testing.T, f *fleet, p panel) []curve {
	t.Helper()
	var all []curve
	for _, q := range p.Targets {
		for _, s := range f.native.matrix(t, allChosen.fillIn(q.Expr, pictureWindow), f.start.Add(pictureStep), f.end, pictureStep) {
			c := curve{name: legend(q.LegendFormat, s.Metric)}
			for _, point := range s.Floats {
				if !math.IsNaN(point.F) {
					c.points = append(c.points, plotter.XY{X: f.seconds(point.T), Y: point.F})
				}
			}
			if len(c.points) > 0 {
				all = append(all, c)
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("nothing to draw for %q", p.Title)
	}
	slices.SortFunc(all, func(a, b curve) int { return strings.Compare(a.name, b.name) })
	return all
}

// A chart has a point each pictureStep, of rates over pictureWindow.
const (
	pictureStep   = 4 * time.Second
	pictureWindow = 16 * time.Second
)

func (f *fleet) seconds(ms int64) float64 { return time.UnixMilli(ms).Sub(f.start).Seconds() }

// legend fills in a legend as Grafana does.
func legend(format string, metric labels.Labels) string {
	metric.Range(func(l labels.Label) { format = strings.ReplaceAll(format, "{{"+l.Name+"}}", l.Value) })
	return format
}

// drawLines draws each series as a line: durations on a logarithmic axis.
func drawLines(t *testing.T, chart *plot.Plot, f *fleet, p panel) {
	t.Helper()
	low := math.Inf(1)
	for i, c := range curves(t, f, p) {
		line, err := plotter.NewLine(c.points)
		if err != nil {
			t.Fatal(err)
		}
		line.Color, line.Width = colours[i%len(colours)], vg.Points(1.4)
		chart.Add(line)
		chart.Legend.Add(c.name, line)
		for _, point := range c.points {
			low = min(low, point.Y)
		}
	}
	if p.unit() == "s" {
		chart.Y.Min = low
		logarithmic(chart)
	} else {
		chart.Y.Min = 0
		chart.Y.Tick.Marker = linear(p.unit())
	}
}

// drawAreas puts the series on top of one another.
func drawAreas(t *testing.T, chart *plot.Plot, f *fleet, p panel) {
	t.Helper()
	all := curves(t, f, p)
	below := map[float64]float64{}
	var areas []*plotter.Polygon
	for i, c := range all {
		values := map[float64]float64{}
		for _, point := range c.points {
			values[point.X] = point.Y
		}
		var upper, lower plotter.XYs
		for at := f.start.Add(pictureStep); !at.After(f.end); at = at.Add(pictureStep) {
			x := f.seconds(at.UnixMilli())
			lower = append(lower, plotter.XY{X: x, Y: below[x]})
			below[x] += values[x]
			upper = append(upper, plotter.XY{X: x, Y: below[x]})
		}
		slices.Reverse(lower)
		area, err := plotter.NewPolygon(append(upper, lower...))
		if err != nil {
			t.Fatal(err)
		}
		area.Color, area.LineStyle.Width = colours[i%len(colours)], 0
		areas = append(areas, area)
		chart.Add(area)
	}
	for i := len(all) - 1; i >= 0; i-- { // the legend in the order of the areas
		chart.Legend.Add(all[i].name, areas[i])
	}
	chart.Y.Min = 0
	if p.unit() == "percentunit" {
		chart.Y.Max = 1
	}
	chart.Y.Tick.Marker = linear(p.unit())
}

// linear marks an axis with numbers, or with percentages.
func linear(unit string) plot.Ticker {
	return plot.TickerFunc(func(low, high float64) []plot.Tick {
		ticks := plot.DefaultTicks{}.Ticks(low, high)
		for i := range ticks {
			if ticks[i].Label != "" && unit == "percentunit" {
				ticks[i].Label = strconv.FormatFloat(100*ticks[i].Value, 'g', 3, 64) + " %"
			}
		}
		return ticks
	})
}

// logarithmic makes the vertical axis one of durations, from one power of ten
// to another.
func logarithmic(chart *plot.Plot) {
	chart.Y.Min = math.Pow(10, math.Floor(math.Log10(chart.Y.Min)))
	chart.Y.Max = math.Pow(10, math.Ceil(math.Log10(chart.Y.Max)))
	chart.Y.Scale = plot.LogScale{}
	chart.Y.Label.Text = "duration"
	chart.Y.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		var ticks []plot.Tick
		for power := math.Floor(math.Log10(low)); power <= math.Log10(high)+1e-9; power++ {
			value := math.Pow(10, power)
			ticks = append(ticks, plot.Tick{Value: value, Label: time.Duration(math.Round(value * 1e9)).String()})
		}
		return ticks
	})
}

// drawHeatmap draws how the distribution changes: the darker, the more
// decisions.
func drawHeatmap(t *testing.T, chart *plot.Plot, f *fleet, p panel) {
	t.Helper()
	m := f.native.matrix(t, allChosen.fillIn(p.Targets[0].Expr, pictureWindow), f.start.Add(pictureStep), f.end, pictureStep)
	if len(m) != 1 || len(m[0].Histograms) == 0 {
		t.Fatalf("%q: %d series, want one of histograms", p.Title, len(m))
	}
	h := &heatmap{}
	for _, point := range m[0].Histograms {
		h.add(f.seconds(point.T), point)
	}
	if len(h.cells) == 0 {
		t.Fatalf("nothing to draw for %q", p.Title)
	}
	chart.Add(h)
	chart.Y.Min, chart.Y.Max = math.Inf(1), 0
	for _, c := range h.cells {
		chart.Y.Min, chart.Y.Max = min(chart.Y.Min, c.low), max(chart.Y.Max, c.high)
	}
	logarithmic(chart)
	for _, share := range []float64{0.05, 0.3, 1} {
		chart.Legend.Add(fmt.Sprintf("%.3g decisions/s", share*h.most), swatch{h.colour(share * h.most)})
	}
}

// A heatmap is a plotter of cells.
type heatmap struct {
	cells []cell
	most  float64
}

type cell struct{ x, low, high, count float64 }

// heatmapSchema is coarse enough for a picture: 4 buckets for each doubling.
const heatmapSchema = 2

func (h *heatmap) add(x float64, point promql.HPoint) {
	for it := point.H.CopyToSchema(heatmapSchema).PositiveBucketIterator(); it.Next(); {
		if b := it.At(); b.Count > 0 {
			h.cells = append(h.cells, cell{x, b.Lower, b.Upper, b.Count})
			h.most = max(h.most, b.Count)
		}
	}
}

func (h *heatmap) colour(count float64) color.Color {
	strength := math.Sqrt(count / h.most)
	mix := func(pale, dark uint8) uint8 { return uint8(float64(pale) + strength*(float64(dark)-float64(pale))) }
	return color.RGBA{mix(222, 8), mix(235, 48), mix(247, 107), 255}
}

// Plot implements plot.Plotter.
func (h *heatmap) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, cell := range h.cells {
		left, right := x(cell.x-pictureStep.Seconds()), x(cell.x)
		c.FillPolygon(h.colour(cell.count), []vg.Point{
			{X: left, Y: y(cell.low)}, {X: right, Y: y(cell.low)}, {X: right, Y: y(cell.high)}, {X: left, Y: y(cell.high)},
		})
	}
}

// A swatch is a colour in a legend.
type swatch struct{ color.Color }

// Thumbnail implements plot.Thumbnailer.
func (s swatch) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(s.Color, []vg.Point{
		{X: c.Min.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Max.Y}, {X: c.Min.X, Y: c.Max.Y},
	})
}
