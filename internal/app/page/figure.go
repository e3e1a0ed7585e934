// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"html/template"

	"gonum.org/v1/plot"
)

// A figure is a plot with what is written beside it.
type figure struct {
	Name, Help   string // above it; the name is that of a stage or of a group
	Legend       []entry
	Wide, Narrow template.HTML // Wide is empty if one serves all
	Note         string        // below it
}

// An entry explains a colour.
type entry struct {
	Ink  ink
	Text string
}

// seconds converts ns since 1970.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// drawTwice renders the figure's plot in both formats.
func (f *figure) drawTwice(text string, wide, narrow format, plotOf func(format) (*plot.Plot, error)) error {
	for _, v := range []struct {
		format
		to *template.HTML
	}{{wide, &f.Wide}, {narrow, &f.Narrow}} {
		p, err := plotOf(v.format)
		if err != nil {
			return err
		}
		if *v.to, err = render(p, v.width, v.height, text); err != nil {
			return err
		}
	}
	return nil
}
