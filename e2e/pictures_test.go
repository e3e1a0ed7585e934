// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/plot"

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

// testPictures draws what panels of the dashboard show, by their own queries.
// With -update it writes the pictures to docs/operating.
func testPictures(t *testing.T, f *fleet) {
	panels := map[string]panel{}
	for _, p := range readDashboard(t, "opa-decisions.json").Panels {
		panels[p.Title] = p
	}
	for file, picture := range pictures {
		p, ok := panels[picture.panel]
		if !ok {
			t.Errorf("the dashboard has no panel %q", picture.panel)
			continue
		}
		chart := newChart(p, f)
		picture.draw(t, chart, f, p)
		text := svg(t, chart)
		if !*update {
			continue
		}
		dir := filepath.Join(harness.Root, "docs", "operating")
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPicturesDrawn: the documentation has all pictures, and no others.
func TestPicturesDrawn(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(harness.Root, "docs", "operating", "*.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, ok := pictures[filepath.Base(file)]; !ok {
			t.Errorf("%s is no picture of a panel: delete it", file)
		}
	}
	if len(files) < len(pictures) {
		t.Errorf("%d of %d pictures are drawn; run: make e2e-pictures", len(files), len(pictures))
	}
}
