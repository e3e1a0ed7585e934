// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
)

// TestStairs: the outline steps at each slice, and goes down to 0 where there
// are none.
func TestStairs(t *testing.T) {
	heights := []float64{2, 2, 5, 1}
	got := stairs([]float64{0, 10, 20, 60}, 10, func(i int) float64 { return heights[i] })
	want := plotter.XYs{{X: 0, Y: 0}, {X: 0, Y: 2}, {X: 10, Y: 2}, {X: 20, Y: 2}, {X: 20, Y: 5}, {X: 30, Y: 5}, {X: 30, Y: 0},
		{X: 60, Y: 0}, {X: 60, Y: 1}, {X: 70, Y: 1}, {X: 70, Y: 0}}
	if !slices.Equal(got, want) {
		t.Errorf("stairs = %v, want %v", got, want)
	}
}

// TestOutcomesCover: the area of an outcome is drawn over those above it.
func TestOutcomesCover(t *testing.T) {
	var got []string
	for path := range elements(byID(t, parsed(t, written(t, example())), "outcomes"), "path") {
		if class := attribute(path, "class"); !strings.HasPrefix(class, "s ") {
			got = append(got, class)
		}
	}
	want := []string{"i-error", "i-result", "i-denied", "i-allowed"}
	if want = append(want, want...); !slices.Equal(got, want) {
		t.Errorf("%q are drawn, want %q", got, want)
	}
}
