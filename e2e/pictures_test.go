// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"

	"github.com/regometer/regometer/e2e/harness"
)

// pictures are the panels of the dashboard that docs/operating shows, by file.
var pictures = map[string]struct{ panel, kind string }{
	"outcomes.svg": {"Decisions by outcome", "areas"},
	"denied.svg":   {"Denied, by path", "lines"},
	"p99.svg":      {"p99 by stage", "lines"},
	"share.svg":    {"Share of the time", "areas"},
	"heatmap.svg":  {"Distribution of evaluation", "heatmap"},
	"paths.svg":    {"p99 of evaluation, by path", "lines"},
	"lost.svg":     {"Decision log: incidents of loss", "lines"},
}

// A chart has a point each pictureStep, of rates over pictureWindow.
const (
	pictureStep   = 4 * time.Second
	pictureWindow = 16 * time.Second
)

// A picture has the figures of a panel. A test of package chart, which draws
// it, describes the fields.
type picture struct {
	Title, Unit, Kind string
	Seconds           float64
	Series            []series
}

type series struct {
	Name   string
	Points [][]json.Number
}

// add adds a point. It keeps as many digits as a picture shows.
func (s *series) add(values ...float64) {
	var point []json.Number
	for _, v := range values {
		point = append(point, json.Number(fmt.Sprintf("%.4g", v)))
	}
	s.Points = append(s.Points, point)
}

// testPictures evaluates panels of the dashboard. With -update it draws them
// into docs/operating.
func testPictures(t *testing.T, f *fleet) {
	panels := map[string]panel{}
	for _, p := range readDashboard(t, "opa-decisions.json").Panels {
		panels[p.Title] = p
	}
	all := map[string]picture{}
	for file, of := range pictures {
		p := panels[of.panel]
		require.NotEmpty(t, p.Targets, "panel %q", of.panel)
		drawn := picture{Title: p.Title, Unit: p.unit(), Kind: of.kind, Seconds: f.end.Sub(f.start).Seconds()}
		if of.kind == "heatmap" {
			drawn.Series = []series{heatmap(t, f, p)}
		} else {
			drawn.Series = curves(t, f, p)
		}
		all[file] = drawn
	}
	if *update {
		text, err := json.Marshal(all)
		require.NoError(t, err)
		dir := filepath.Join(harness.Root, "internal", "app", "chart")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "testdata", "operating.json"), append(text, '\n'), 0o666))
		harness.Run(t, dir, nil, "go", "test", "-run", "^TestPictures$", ".", "-update")
	}
}

func (f *fleet) seconds(ms int64) float64 { return time.UnixMilli(ms).Sub(f.start).Seconds() }

// matrix evaluates a query over the time of the work.
func (f *fleet) matrix(t *testing.T, query string) promql.Matrix {
	return f.native.matrix(t, allChosen.fillIn(query, pictureWindow), f.start.Add(pictureStep), f.end, pictureStep)
}

// curves evaluates the queries of a panel.
func curves(t *testing.T, f *fleet, p panel) []series {
	var all []series
	for _, q := range p.Targets {
		for _, s := range f.matrix(t, q.Expr) {
			c := series{Name: q.LegendFormat}
			s.Metric.Range(func(l labels.Label) { c.Name = strings.ReplaceAll(c.Name, "{{"+l.Name+"}}", l.Value) })
			for _, point := range s.Floats {
				if !math.IsNaN(point.F) {
					c.add(f.seconds(point.T), point.F)
				}
			}
			if len(c.Points) > 0 {
				all = append(all, c)
			}
		}
	}
	require.NotEmpty(t, all, p.Title)
	slices.SortFunc(all, func(a, b series) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// heatmap evaluates the distribution of a panel.
func heatmap(t *testing.T, f *fleet, p panel) (h series) {
	m := f.matrix(t, p.Targets[0].Expr)
	require.Len(t, m, 1, p.Title)
	for _, point := range m[0].Histograms {
		coarse, err := point.H.CopyToSchema(heatmapSchema)
		require.NoError(t, err)
		for it := coarse.PositiveBucketIterator(); it.Next(); {
			if b := it.At(); b.Count > 0 {
				h.add(f.seconds(point.T), b.Lower, b.Upper, b.Count)
			}
		}
	}
	require.NotEmpty(t, h.Points, p.Title)
	return h
}

// heatmapSchema is coarse enough for a picture: 4 buckets for each doubling.
const heatmapSchema = 2
