// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"image/color"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/palette/brewer"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/regometer/regometer/e2e/harness"
)

// pictures are the panels of the dashboard that docs/operating shows, by file.
var pictures = map[string]struct {
	panel string
	draw  func(*testing.T, *plot.Plot, *fleet, panel)
}{
	"outcomes.svg": {"Decisions by outcome", drawAreas},
	"denied.svg":   {"Denied, by path", drawLines},
	"p99.svg":      {"p99 by stage", drawLines},
	"share.svg":    {"Share of the time", drawAreas},
	"heatmap.svg":  {"Distribution of evaluation", drawHeatmap},
	"paths.svg":    {"p99 of evaluation, by path", drawLines},
	"lost.svg":     {"Decision log: incidents of loss", drawLines},
}

// A chart has a point each pictureStep, of rates over pictureWindow.
const (
	pictureStep   = 4 * time.Second
	pictureWindow = 16 * time.Second
)

// colours are distinct for the colour-blind too (Okabe and Ito).
var colours = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{230, 159, 0, 255}, {86, 180, 233, 255}, {90, 90, 90, 255}, {240, 228, 66, 255},
}

// testPictures draws panels of the dashboard by their own queries. With -update
// it writes the pictures to docs/operating.
func testPictures(t *testing.T, f *fleet) {
	panels := map[string]panel{}
	for _, p := range readDashboard(t, "opa-decisions.json").Panels {
		panels[p.Title] = p
	}
	for file, picture := range pictures {
		p := panels[picture.panel]
		require.NotEmpty(t, p.Targets, "panel %q", picture.panel)
		chart := newChart(p, f)
		picture.draw(t, chart, f, p)
		text := svg(t, chart)
		if *update {
			require.NoError(t, os.WriteFile(filepath.Join(harness.Root, "docs", "operating", file), text, 0o666))
		}
	}
}

// TestPicturesDrawn: docs/operating has all pictures, and no other file.
func TestPicturesDrawn(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(filepath.Join(harness.Root, "docs", "operating"))
	require.NoError(t, err)
	var drawn []string
	for _, file := range files {
		drawn = append(drawn, file.Name())
	}
	assert.Equal(t, slices.Sorted(maps.Keys(pictures)), drawn, "run make e2e-pictures, or delete pictures")
}

// svg draws a chart with its legend to the right.
func svg(t *testing.T, chart *plot.Plot) []byte {
	const width, height, legendWidth, margin = 24 * vg.Centimeter, 9 * vg.Centimeter, 130, 6
	legend := chart.Legend
	chart.Legend = plot.NewLegend()
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	chart.Draw(draw.Crop(all, margin, -legendWidth-margin, margin, -margin))
	legend.Draw(draw.Crop(all, width-legendWidth, -margin, margin, -32))
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	require.NoError(t, err)
	// Some readers do not have the typeface by which the text was measured.
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
	var times plot.ConstantTicks
	for s := 0; float64(s) <= chart.X.Max; s += 15 {
		times = append(times, plot.Tick{Value: float64(s), Label: fmt.Sprintf("%d:%02d", s/60, s%60)})
	}
	chart.X.Tick.Marker = times
	chart.X.Label.Text = "time, minutes:seconds"
	chart.Y.Label.Text = map[string]string{"s": "duration", "reqps": "per second", "ops": "per second", "percentunit": "share"}[p.unit()]
	chart.Legend.Top, chart.Legend.Left = true, true
	chart.Legend.TextStyle.Font.Size = 9
	chart.Legend.Padding, chart.Legend.ThumbnailWidth = 4, 14
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{230}, color.Gray{230}
	chart.Add(grid)
	return chart
}

// logarithmic gives durations an axis from one power of ten to another.
func logarithmic(chart *plot.Plot) {
	low, high := math.Floor(math.Log10(chart.Y.Min)), math.Ceil(math.Log10(chart.Y.Max))
	chart.Y.Min, chart.Y.Max, chart.Y.Scale = math.Pow(10, low), math.Pow(10, high), plot.LogScale{}
	var durations plot.ConstantTicks
	for power := low; power <= high; power++ {
		value := math.Pow(10, power)
		durations = append(durations, plot.Tick{Value: value, Label: time.Duration(math.Round(value * 1e9)).String()})
	}
	chart.Y.Tick.Marker = durations
}

// A curve is one series of a panel.
type curve struct {
	name   string
	points plotter.XYs // seconds since the work began
}

func (f *fleet) seconds(ms int64) float64 { return time.UnixMilli(ms).Sub(f.start).Seconds() }

// matrix evaluates a query over the time of the work.
func (f *fleet) matrix(t *testing.T, query string) promql.Matrix {
	return f.native.matrix(t, allChosen.fillIn(query, pictureWindow), f.start.Add(pictureStep), f.end, pictureStep)
}

// curves evaluates the queries of a panel.
func curves(t *testing.T, f *fleet, p panel) []curve {
	var all []curve
	for _, q := range p.Targets {
		for _, s := range f.matrix(t, q.Expr) {
			c := curve{name: q.LegendFormat}
			s.Metric.Range(func(l labels.Label) { c.name = strings.ReplaceAll(c.name, "{{"+l.Name+"}}", l.Value) })
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
	require.NotEmpty(t, all, p.Title)
	slices.SortFunc(all, func(a, b curve) int { return strings.Compare(a.name, b.name) })
	return all
}

// drawLines draws each series as a line, and durations on a logarithmic axis.
func drawLines(t *testing.T, chart *plot.Plot, f *fleet, p panel) {
	for i, c := range curves(t, f, p) {
		line, err := plotter.NewLine(c.points)
		require.NoError(t, err)
		line.Color, line.Width = colours[i%len(colours)], vg.Points(1.4)
		chart.Add(line)
		chart.Legend.Add(c.name, line)
	}
	if p.unit() == "s" {
		logarithmic(chart)
	} else {
		chart.Y.Min = 0
	}
}

// drawAreas puts the series on top of one another.
func drawAreas(t *testing.T, chart *plot.Plot, f *fleet, p panel) {
	all := curves(t, f, p)
	sums := map[float64]float64{} // of the series so far, by time
	var areas []*plotter.Polygon
	for i, c := range all {
		for _, point := range c.points {
			sums[point.X] += point.Y
		}
		times := slices.Sorted(maps.Keys(sums))
		outline := plotter.XYs{{X: times[0]}}
		for _, at := range times {
			outline = append(outline, plotter.XY{X: at, Y: sums[at]})
		}
		area, err := plotter.NewPolygon(append(outline, plotter.XY{X: times[len(times)-1]}))
		require.NoError(t, err)
		area.Color, area.LineStyle.Width = colours[i%len(colours)], 0
		areas = append(areas, area)
	}
	for i, area := range slices.Backward(areas) { // a smaller area is in front of a larger one
		chart.Add(area)
		chart.Legend.Add(all[i].name, area)
	}
}

// drawHeatmap draws a distribution over time. A darker colour means more
// decisions.
func drawHeatmap(t *testing.T, chart *plot.Plot, f *fleet, p panel) {
	m := f.matrix(t, p.Targets[0].Expr)
	require.Len(t, m, 1, p.Title)
	require.NotEmpty(t, m[0].Histograms, p.Title)
	h := heatmap{fleet: f, points: m[0].Histograms, low: math.MaxInt32, high: math.MinInt32}
	for _, point := range h.points {
		column := map[int]float64{}
		for it := point.H.CopyToSchema(heatmapSchema).PositiveBucketIterator(); it.Next(); {
			if b := it.At(); b.Count > 0 {
				column[int(b.Index)] = b.Count
				h.low, h.high = min(h.low, int(b.Index)), max(h.high, int(b.Index))
			}
		}
		h.columns = append(h.columns, column)
	}
	blues, err := brewer.GetPalette(brewer.TypeSequential, "Blues", 7)
	require.NoError(t, err)
	drawn := plotter.NewHeatMap(h, blues)
	chart.Add(drawn)
	logarithmic(chart)
	for i, thumbnail := range plotter.PaletteThumbnailers(blues) {
		root := drawn.Min + (drawn.Max-drawn.Min)*float64(i)/6
		chart.Legend.Add(fmt.Sprintf("%.2g decisions/s", root*root), thumbnail)
	}
}

// heatmapSchema is coarse enough for a picture: 4 buckets for each doubling.
const heatmapSchema = 2

// A heatmap is a grid of rates: columns of times and rows of buckets.
type heatmap struct {
	fleet     *fleet
	points    []promql.HPoint
	columns   []map[int]float64 // rates by bucket
	low, high int               // the first and the last bucket
}

func (h heatmap) Dims() (columns, rows int) { return len(h.columns), h.high - h.low + 1 }
func (h heatmap) X(column int) float64      { return h.fleet.seconds(h.points[column].T) }
func (h heatmap) Y(row int) float64         { return math.Exp2((float64(h.low+row) - 0.5) / 4) }

// Z returns the square root of a rate, so that low rates can be seen, or NaN if
// the bucket is empty.
func (h heatmap) Z(column, row int) float64 {
	if n := h.columns[column][h.low+row]; n > 0 {
		return math.Sqrt(n)
	}
	return math.NaN()
}
