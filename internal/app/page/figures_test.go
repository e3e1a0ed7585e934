// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/groupby"
)

// stage returns a stage with these durations.
func stage(name string, ns ...int64) groupby.Stage {
	h := exphist.New(exphist.Nanosecond)
	for _, v := range ns {
		h.Record(v)
	}
	s := groupby.Stage{Name: name}
	h.Snapshot(&s.Durations)
	return s
}

func labels(ticks []tick) (all []string) {
	for _, t := range ticks {
		all = append(all, t.label)
	}
	return all
}

// Whatever the values are, the axis has room for them, and some marks, but not
// too many.
func TestLatencies(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		low := math.Exp(random.Float64() * math.Log(math.MaxInt64))
		high := min(low*math.Exp(random.Float64()*random.Float64()*20), math.MaxInt64)
		most := 5 + random.IntN(4)
		a := latencies(low, high, most)
		if !(a.low <= low && high < a.high) || a.low*5.6 < low || high*2.8 < a.high || len(a.ticks) < 1 || len(a.ticks) > most {
			t.Fatalf("latencies(%v, %v, %d) = %+v", low, high, most, a)
		}
	}
	if got, want := labels(latencies(0, 0, 5).ticks), []string{"1 ns", "2 ns"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := labels(latencies(150e3, 30e6, 6).ticks), []string{"100 µs", "1 ms", "10 ms"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAmounts(t *testing.T) {
	for v := 1e-3; v < 1e7; v *= 1.37 {
		a := amounts(v, threeDigitsAtMost)
		if a.high < v || len(a.ticks) < 2 || len(a.ticks) > 6 || a.ticks[0].value != 0 {
			t.Errorf("amounts(%v) = %+v", v, a)
		}
	}
	if got, want := labels(amounts(10, threeDigitsAtMost).ticks), []string{"0", "2", "4", "6", "8", "10"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if a := amounts(0, threeDigitsAtMost); a.high <= 0 {
		t.Errorf("amounts(0) = %+v", a)
	}
}

func TestTimes(t *testing.T) {
	at := func(s string) float64 {
		v, err := time.Parse(time.DateTime, s)
		if err != nil {
			t.Fatal(err)
		}
		return float64(v.Unix())
	}
	for _, c := range []struct {
		low, high string
		most      int
		want      []string
	}{
		{"2026-03-02 22:00:00", "2026-03-03 01:00:00", 5, []string{"22:00", "23:00", "3 Mar", "01:00"}},
		{"2026-03-02 22:00:30", "2026-03-02 22:01:00", 4, []string{"22:00:30", "22:00:40", "22:00:50", "22:01:00"}},
		{"2026-03-02 12:00:00", "2026-03-05 12:00:00", 5, []string{"3 Mar", "4 Mar", "5 Mar"}},
		{"1969-12-31 12:00:00", "1970-01-01 12:00:00", 3, []string{"12:00", "1 Jan", "12:00"}},
		{"2020-01-01 00:00:00", "2024-01-01 00:00:00", 5, []string{"Dec 2020", "Dec 2021", "Dec 2022", "Dec 2023"}},
	} {
		got := labels(times(at(c.low), at(c.high), c.most).ticks)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s to %s: %q, want %q", c.low, c.high, got, c.want)
		}
	}
	for span := 1.0; span < 2e10; span *= 1.5 {
		if got := times(1e9, 1e9+span, 5).ticks; len(got) > 6 {
			t.Errorf("%v s: %q", span, labels(got))
		}
	}
}

// The bins are few, in order, without overlap, from the least to the largest
// value, and each value above 0 is in one.
func TestBinned(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, spread := range []float64{0, 0.001, 0.1, 1, 5} {
		for _, n := range []int{1, 2, 100, 5000} {
			values := make([]int64, n)
			for i := range values {
				values[i] = max(1, int64(1e6*math.Exp(spread*random.NormFloat64())))
			}
			s := stage("s", values...)
			bins, most := binned(&s.Durations)
			sum, largest, end := 0.0, 0.0, 0.0
			for _, b := range bins {
				if b.low >= b.high || b.low < end {
					t.Errorf("%d values, spread %v: a bin is %+v after %v", n, spread, b, end)
				}
				sum, largest, end = sum+b.share, max(largest, b.share), b.high
			}
			if len(bins) > maxBins || math.Abs(sum-1) > 1e-9 || largest != most ||
				bins[0].low >= float64(s.Durations.Min()) || end < float64(s.Durations.Max()) {
				t.Errorf("%d values, spread %v: sum %v, largest %v, most %v, %+v", n, spread, sum, largest, most, bins)
			}
		}
	}
}

// A curve has a point for each slice with timings of the stage. It is cut where
// a slice has none.
func TestCurve(t *testing.T) {
	minute := int64(60e9)
	with := func(begin int64, ns ...int64) groupby.Slice {
		return groupby.Slice{Begin: begin, Stages: []groupby.Stage{stage("other", 7), stage("server_handler", ns...)}}
	}
	all := stage("server_handler")
	c := curveOf(&all, []groupby.Slice{
		with(decisionlog.NoTime, 1), with(0, 1e6, 2e6, 3e6), with(minute, 5e6), with(2 * minute), with(3*minute, 4e6),
		with(9*minute, 1e3), with(10*minute, 2e3),
	}, minute)
	var got [][]float64
	for _, run := range c.runs() {
		var places []float64
		for _, p := range run {
			places = append(places, p.at)
		}
		got = append(got, places)
	}
	if want := [][]float64{{30, 90}, {210}, {570, 630}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("runs %v, want %v", got, want)
	}
	h := stage("", 1e6, 2e6, 3e6).Durations
	if want := (point{0, 30, h.Quantile(0.5), h.Quantile(0.99)}); c.points[0] != want {
		t.Errorf("the first point is %+v, want %+v", c.points[0], want)
	}
}

// The outline steps at each slice, and goes down to 0 where there are none.
func TestStairs(t *testing.T) {
	heights := []float64{2, 2, 5, 1}
	got := stairs([]float64{0, 10, 20, 60}, 10, func(i int) float64 { return heights[i] })
	want := []xy{{0, 0}, {0, 2}, {10, 2}, {20, 2}, {20, 5}, {30, 5}, {30, 0}, {60, 0}, {60, 1}, {70, 1}, {70, 0}}
	if !slices.Equal(got, want) {
		t.Errorf("stairs = %v, want %v", got, want)
	}
}

// Points are where the axes say, and none is outside of the axes.
func TestPlace(t *testing.T) {
	c := chart{x: axis{low: 10, high: 20}, y: axis{low: 1, high: 100, logarithmic: true}, left: 50, right: 150, top: 10, bottom: 110}
	for value, want := range map[xy]xy{
		{10, 1}: {50, 110}, {15, 10}: {100, 60}, {20, 100}: {150, 10}, {0, 0}: {50, 110}, {1e9, 1e9}: {150, 10},
	} {
		if got := c.place(value); math.Abs(got.x-want.x) > 1e-9 || math.Abs(got.y-want.y) > 1e-9 {
			t.Errorf("%v is at %v, want %v", value, got, want)
		}
	}
}

// The lengths of the bars are the shares of the stages of the time.
func TestShareBars(t *testing.T) {
	r := example(t)
	stages := r.Total.ByTime()
	drawn, whole := 0, 0.0
	for path := range elements(byID(t, parsed(t, written(t, r)), "share"), "path") {
		var top, length float64
		if _, err := fmt.Sscanf(attribute(path, "d"), "M0,%fh%fv10", &top, &length); err != nil {
			t.Fatal(err)
		}
		if attribute(path, "class") == "i-grid" {
			whole = length
			continue
		}
		want := report.Float(stages[drawn%len(stages)].Self) / report.Float(r.Total.Time)
		if math.Abs(length/whole-want) > 0.002 {
			t.Errorf("%s: %v of %v, want a share of %v", stages[drawn%len(stages)].Name, length, whole, want)
		}
		drawn++
	}
	if drawn != 2*len(stages) {
		t.Errorf("%d bars of %d stages, want two each", drawn, len(stages))
	}
}

// The area of an outcome is drawn over those above it.
func TestOutcomesCover(t *testing.T) {
	r := example(t)
	var got, want []string
	for path := range elements(byID(t, parsed(t, written(t, r)), "outcomes"), "path") {
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

// Groups with few decisions are among the slowest only if no other is there.
func TestSlowest(t *testing.T) {
	of := func(key string, decisions uint64, ns ...int64) report.Group {
		return report.Group{Group: groupby.Group{Key: key, Stages: []groupby.Stage{stage("server_handler", ns...)}}, Decisions: decisions}
	}
	keys := func(groups ...report.Group) (all string) {
		for _, g := range slowest(report.GroupsOf(groups...)) {
			all += g.Key
		}
		return all
	}
	if got := keys(of("a", 100, 1e6), of("b", 99, 1e9), of("c", 500, 2e6), of("d", 0)); got != "ca" {
		t.Errorf("%q, want ca", got)
	}
	if got := keys(of("a", 1, 1e6), of("b", 99, 1e9)); got != "ba" {
		t.Errorf("%q, want ba", got)
	}
	if got := keys(slices.Repeat([]report.Group{of("x", 1, 1)}, 50)...); len(got) != maxSlowGroups {
		t.Errorf("%d of them", len(got))
	}
}
