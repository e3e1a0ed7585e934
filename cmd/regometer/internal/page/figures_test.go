// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/cmd/regometer/internal/text"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/groupby"
	"github.com/regometer/regometer/internal/logread"
)

// stage returns a stage with these durations.
func stage(name string, ns ...int64) groupby.Stage {
	h := exphist.New(exphist.Layout{Unit: exphist.Nanosecond})
	for _, v := range ns {
		h.Record(v)
	}
	s := groupby.Stage{Name: name}
	h.Snapshot(&s.Durations)
	return s
}

// A curve has a point for each slice with timings of the stage. Its lines end
// where a slice has none.
func TestCurve(t *testing.T) {
	minute := int64(60e9)
	with := func(begin int64, ns ...int64) groupby.Slice {
		return groupby.Slice{Begin: begin, Stages: []groupby.Stage{stage("other", 7), stage("server_handler", ns...)}}
	}
	all := stage("server_handler")
	c := curveOf(&all, []groupby.Slice{
		with(logread.NoTime, 1), with(0, 1e6, 2e6, 3e6), with(minute, 5e6), with(2 * minute), with(3*minute, 4e6),
		with(9*minute, 1e3), with(10*minute, 2e3),
	}, minute)
	var got []float64
	for _, p := range c.points {
		got = append(got, p.at)
	}
	if want := []float64{30, 90, 210, 570, 630}; !slices.Equal(got, want) {
		t.Errorf("points at %v, want %v", got, want)
	}
	if drawn := c.draw(small, nil, c).HTML(""); strings.Count(string(drawn), `"s line i-p99"`) != 2 || strings.Count(string(drawn), `"s dot i-p99"`) != 1 {
		t.Errorf("lines over a gap, or no dot: %s", drawn)
	}
	h := stage("", 1e6, 2e6, 3e6).Durations
	if want := (point{0, 30, h.Quantile(0.5), h.Quantile(0.99), 3}); c.points[0] != want {
		t.Errorf("the first point is %+v, want %+v", c.points[0], want)
	}
}

// A slice at an end with few timings, compared with the next one, is left out.
func TestShortSlices(t *testing.T) {
	ends := func(counts ...int) (places []float64) {
		var parts []groupby.Slice
		for i, n := range counts {
			parts = append(parts, groupby.Slice{Begin: int64(i) * 1e9, Stages: []groupby.Stage{stage("s", slices.Repeat([]int64{1e6}, n)...)}})
		}
		all := stage("s")
		for _, p := range curveOf(&all, parts, 1e9).points {
			places = append(places, p.at)
		}
		return places
	}
	for got, want := range map[string]string{
		fmt.Sprint(ends(4, 10, 2, 10, 4)):    "[1.5 2.5 3.5]",
		fmt.Sprint(ends(900, 900, 900, 100)): "[0.5 1.5 2.5 3.5]", fmt.Sprint(ends(1, 10)): "[0.5 1.5]", fmt.Sprint(ends(5, 10, 6, 3)): "[0.5 1.5 2.5 3.5]",
	} {
		if got != want {
			t.Errorf("slices at %s, want %s", got, want)
		}
	}
}

// The bars of an outcome are drawn over those above it.
func TestOutcomesCover(t *testing.T) {
	r := example(t)
	var got, want []string
	for path := range elements(sectionOf(t, parsed(t, written(t, r)), "Outcomes"), "path") {
		if class := attribute(path, "class"); class[0] != 's' {
			got = append(got, class)
		}
	}
	for o := len(r.Total.Outcomes) - 1; o >= 0; o-- {
		if r.Total.Outcomes[o] > 0 {
			want = append(want, "i-"+string(inkOf(o)))
		}
	}
	if want = append(want, want...); len(want) < 6 || !slices.Equal(got, want) {
		t.Errorf("%q are drawn, want %q", got, want)
	}
}

// The rate of a slice is that of the time that the log covers, and decisions
// without a time are in no rate.
func TestRates(t *testing.T) {
	log := event("a", time.Time{})
	for i := range 101 {
		log += event("a", start.Add(time.Duration(i)*100*time.Millisecond))
	}
	root := parsed(t, written(t, reportOf(t, log)))
	for heading, want := range map[string]string{"Key figures": " 10.1 decisions a second", "Outcomes": "highest rate was 10.1 decisions a second"} {
		if text := words(t, root, heading); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %q", heading, text, want)
		}
	}
}

// The charts over time have a line where the text of a finding names a time.
func TestMarks(t *testing.T) {
	r := example(t)
	at := start.Add(time.Hour)
	within, later := at.Format(time.RFC3339Nano), at.Add(90*time.Minute).Format(time.RFC3339Nano)
	begin, end := text.Time(r.From, time.RFC3339Nano), text.Time(r.To, time.RFC3339Nano)
	r.Findings = []report.Finding{
		{Text: "Without a time."},
		{Text: "Of the whole log.", From: begin, To: end},
		{Text: "From an hour on.", Path: "a", From: within, To: end},
		{Text: "Of all paths.", From: within, To: later},
		{Text: "At first.", Path: "b", From: begin, To: later},
	}
	v := view{Report: r}
	labels := func(path string) (all string) {
		for _, m := range v.marks(path) {
			all += fmt.Sprint(m.Label, "@", int(m.At-seconds(at.UnixNano())), " ")
		}
		return all
	}
	for path, want := range map[string]string{"": "3@0 4@0 4@5400 5@5400 ", "a": "3@0 4@0 4@5400 ", "c": "4@0 4@5400 "} {
		if got := labels(path); got != want {
			t.Errorf("path %q: marks %s, want %s", path, got, want)
		}
	}
	root := parsed(t, written(t, r))
	for _, section := range []string{"Latency", "Outcomes"} {
		if text := words(t, root, section); !strings.Contains(text, "Each numbered line") {
			t.Errorf("%s does not explain its lines: %s", section, text)
		}
	}
	r.Findings = r.Findings[:2]
	if page := textOf(parsed(t, written(t, r))); strings.Contains(page, "numbered line") {
		t.Error("a page without lines explains them")
	}
}
