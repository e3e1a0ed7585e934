// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/regometer/regometer/cmd/regometer/internal/text"
)

var update = flag.Bool("update", false, "write docs/operating")

// A picture is a panel of the dashboard with its figures. testdata/operating.json
// was measured once, with three servers.
type picture struct {
	Title, Unit, Kind string // the kind is lines, areas or heatmap
	Seconds           float64
	Series            []struct {
		Name   string
		Points [][]float64 // the time and the value; or the time, the two ends of a duration and the rate
	}
}

// colours are distinct for the colour-blind too (Okabe and Ito), and blues are
// for rates, from low to high.
var (
	colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5a5a5a", "#f0e442"}
	blues   = []string{"#eff3ff", "#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#084594"}
)

const heatmapStep = 4 // seconds from one column of a heatmap to the next

// TestPictures: the pictures in docs/operating are those of the stored figures.
func TestPictures(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("floating-point numbers may be rounded otherwise here")
	}
	stored, err := os.ReadFile(filepath.Join("testdata", "operating.json"))
	if err != nil {
		t.Fatal(err)
	}
	var pictures map[string]picture // by file
	if err := json.Unmarshal(stored, &pictures); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("..", "..", "..", "..", "docs", "operating")
	for file, p := range pictures {
		drawn := p.draw()
		if *update {
			if err := os.WriteFile(filepath.Join(dir, file), drawn, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if kept, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !bytes.Equal(kept, drawn) {
			t.Errorf("docs/operating/%s is not what is drawn now (error: %v): run go test ./cmd/regometer/internal/chart -update", file, err)
		}
	}
	if kept, err := os.ReadDir(dir); err != nil || len(kept) != len(pictures) {
		t.Errorf("docs/operating has %d files, want %d: delete old pictures (error: %v)", len(kept), len(pictures), err)
	}
}

// draw draws a picture with its legend to the right.
func (p *picture) draw() []byte {
	x := Axis{High: p.Seconds, Label: "time, minutes:seconds"}
	for s := 0; float64(s) <= p.Seconds; s += 15 {
		x.Ticks = append(x.Ticks, Tick{float64(s), fmt.Sprintf("%d:%02d", s/60, s%60)})
	}
	inks, legend := map[Ink]string{InkAxis: "#57606a", InkGrid: "#e4e7ea"}, colours
	if p.Kind == "heatmap" {
		legend = blues
	}
	for i, colour := range legend {
		inks[inkOf(i)] = colour
	}
	c := New(Format{Width: 610, Height: 290}, x, p.axis())
	// entry adds to the legend.
	places := 0
	entry := func(i int, name string) {
		y := 20 + 18*float64(places)
		c.Path("i-"+string(inkOf(i)), fmt.Sprintf("M%g,%gh12v10h-12Z", c.Width+4, y))
		c.Text(InkAxis, "start", c.Width+22, y+9, name)
		places++
	}
	switch p.Kind {
	case "lines":
		for i, s := range p.Series {
			var line []Point
			for _, at := range s.Points {
				line = append(line, Point{at[0], at[1]})
			}
			c.Line(inkOf(i), line)
			entry(i, s.Name)
		}
	case "areas":
		for i, outline := range slices.Backward(p.stacked()) { // a smaller area is in front of a larger one
			c.Area(inkOf(i), outline)
			entry(i, p.Series[i].Name)
		}
	default:
		most := p.most(3)
		blue := func(rate float64) int { // the square root shows low rates too
			return min(int(math.Sqrt(rate/most)*float64(len(blues))), len(blues)-1)
		}
		cells := slices.SortedFunc(slices.Values(p.Series[0].Points), func(a, b []float64) int {
			return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0]))
		})
		for i := 0; i < len(cells); { // cells of one colour beside one another are one area
			first, last := cells[i], cells[i]
			for ; i < len(cells) && cells[i][1] == first[1] && cells[i][0]-last[0] < 1.5*heatmapStep && blue(cells[i][3]) == blue(first[3]); i++ {
				last = cells[i]
			}
			from, to := first[0]-heatmapStep/2, last[0]+heatmapStep/2
			c.Area(inkOf(blue(first[3])), []Point{{from, first[1]}, {from, first[2]}, {to, first[2]}, {to, first[1]}})
		}
		for i := range blues {
			part := float64(i) / float64(len(blues))
			entry(i, fmt.Sprintf("from %.2g decisions/s", most*part*part))
		}
	}
	c.Width += 160 // for the legend
	return c.file(inks)
}

func inkOf(i int) Ink { return Ink(fmt.Sprint(i % len(colours))) }

// stacked returns the outline of each series on top of those before it.
func (p *picture) stacked() (outlines [][]Point) {
	sums := map[float64]float64{} // of the series so far, by time
	for _, s := range p.Series {
		for _, at := range s.Points {
			sums[at[0]] += at[1]
		}
		times := slices.Sorted(maps.Keys(sums))
		outline := []Point{{times[0], 0}}
		for _, at := range times {
			outline = append(outline, Point{at, sums[at]})
		}
		outlines = append(outlines, append(outline, Point{times[len(times)-1], 0}))
	}
	return outlines
}

// most returns the largest value in a column of the points.
func (p *picture) most(column int) (most float64) {
	for _, s := range p.Series {
		for _, at := range s.Points {
			most = max(most, at[column])
		}
	}
	return most
}

// axis returns the vertical axis.
func (p *picture) axis() (y Axis) {
	switch {
	case p.Unit == "s": // all durations are drawn in ns
		low := math.Inf(1)
		for _, s := range p.Series {
			for _, at := range s.Points {
				for i := 1; i < min(len(at), 3); i++ {
					at[i] *= 1e9
				}
				low = min(low, at[1])
			}
		}
		y = Durations(low, p.most(min(2, len(p.Series[0].Points[0])-1)), 8)
	case p.Kind == "areas":
		most := 0.0
		for _, outline := range p.stacked() {
			for _, at := range outline {
				most = max(most, at.Y)
			}
		}
		y = Amounts(most, p.label)
	default:
		y = Amounts(p.most(1), p.label)
	}
	y.Label = p.Title
	if p.Unit == "reqps" || p.Unit == "ops" {
		y.Label += ", per second"
	}
	return y
}

// label writes a value.
func (p *picture) label(v float64) string {
	if p.Unit == "percentunit" {
		return fmt.Sprintf("%.3g %%", 100*v)
	}
	if v >= 1000 {
		return text.Count(uint64(v))
	}
	return plain(v)
}

// file returns the chart as a file, with these colours and a white ground. Some
// programs that show files know neither variables nor dark pages.
func (c *Chart) file(colours map[Ink]string) []byte {
	style := "text{font-family:Liberation Sans,Arial,Helvetica,sans-serif}.s{stroke-width:.8}.line{stroke-width:1.6}"
	for _, i := range slices.Sorted(maps.Keys(colours)) {
		style += fmt.Sprintf("\n.i-%s{fill:%[2]s}.s.i-%[1]s{fill:none;stroke:%[2]s}", i, colours[i])
	}
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%[2]g" viewBox="0 0 %[1]g %[2]g">
<style>%[3]s</style><path fill="#fff" d="M0,0H%[1]gV%[2]gH0Z"></path>
%[4]s</svg>
`, c.Width, c.Height, style, strings.ReplaceAll(c.svg.String(), "><path", ">\n<path"))
}
