// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/app/report"
	"github.com/regometer/regometer/internal/groupby"
)

const simulatedPaths, simulatedStages = 10, 4

// world is what latencies are like, on both sides of a comparison of like with
// like. What is drawn for each side is noise.
type world struct {
	correlation float64 // of the level of a minute with that of the next (AR(1))
	common, own float64 // standard deviation of that level's logarithm: of all paths, of one

	// The mean minutes of bursts of 5 times the latency, and between bursts (0:
	// no bursts), of all paths together or of each path.
	burst, gap float64
	together   bool

	day    float64 // amplitude of the day's curve of load, on the log scale
	rate   float64 // decisions a minute of the busiest path
	skew   float64 // path n has rate/n^skew decisions a minute
	paths  int
	stages int // of each path
	spread [simulatedPaths * simulatedStages]float64
}

func newWorld(rng *rand.Rand) *world {
	w := &world{
		correlation: []float64{0, 0.5, 0.7, 0.9}[rng.IntN(4)],
		common:      0.1 + 0.2*rng.Float64(),
		own:         0.05 + 0.2*rng.Float64(),
		burst:       3 + 4*rng.Float64(),
		gap:         []float64{0, 30, 150}[rng.IntN(3)],
		together:    rng.IntN(2) == 0,
		day:         0.5 * rng.Float64(),
		rate:        100, skew: 0.8, paths: simulatedPaths, stages: simulatedStages,
	}
	for i := range w.spread {
		w.spread[i] = 0.3 + 1.2*rng.Float64()
	}
	return w
}

// levels returns an AR(1) series of variance 1.
func (w *world) levels(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	x[0] = rng.NormFloat64()
	for i := 1; i < n; i++ {
		x[i] = w.correlation*x[i-1] + math.Sqrt(1-w.correlation*w.correlation)*rng.NormFloat64()
	}
	return x
}

// bursts returns the logarithm of 5 for the minutes that are in a burst.
func (w *world) bursts(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	if w.gap == 0 {
		return x
	}
	in := rng.Float64() < w.burst/(w.burst+w.gap)
	for i := range x {
		if in {
			x[i] = math.Log(5)
			in = rng.Float64() > 1/w.burst
		} else {
			in = rng.Float64() < 1/w.gap
		}
	}
	return x
}

// report draws a report of n slices. The first stage of the first path takes
// slower times as long.
func (w *world) report(rng *rand.Rand, n int, slower float64) *report.Report {
	var groups []report.Group
	common, allBursts := w.levels(rng, n), w.bursts(rng, n)
	for path := range w.paths {
		own, bursts := w.levels(rng, n), allBursts
		if !w.together {
			bursts = w.bursts(rng, n)
		}
		g := report.Group{Group: groupby.Group{Key: fmt.Sprint("path", path), Slices: make([]groupby.Slice, n)}}
		g.Stages = make([]groupby.Stage, w.stages)
		for i := range n {
			day := w.day * math.Sin(2*math.Pi*float64(i)/240)
			decisions := 1 + int(w.rate/math.Pow(float64(path+1), w.skew)*math.Exp(day+0.2*rng.NormFloat64()))
			level := math.Log(200e3) + w.common*common[i] + w.own*own[i] + bursts[i] + 0.3*day
			g.Slices[i] = groupby.Slice{Begin: int64(i) * 60e9, Stages: make([]groupby.Stage, w.stages)}
			for stage := range w.stages {
				factor := 1.0
				if path == 0 && stage == 0 {
					factor = slower
				}
				h := exphist.New(exphist.Nanosecond)
				for range decisions {
					h.Record(int64(factor * math.Exp(level+w.spread[(path*w.stages+stage)%len(w.spread)]*rng.NormFloat64())))
				}
				s := &g.Slices[i].Stages[stage]
				s.Name = fmt.Sprint("stage", stage)
				h.Snapshot(&s.Durations)
				g.Stages[stage].Name = s.Name
				if err := g.Stages[stage].Durations.Merge(&s.Durations); err != nil {
					panic(err)
				}
			}
			g.Decisions += uint64(decisions)
		}
		groups = append(groups, g)
	}
	return &report.Report{By: "path", Groups: report.GroupsOf(groups...)}
}

// comparisons returns the number of comparisons in a simulation: few, unless
// the environment asks for more.
func comparisons(t *testing.T, few int) int {
	t.Helper()
	if s := os.Getenv("REGOMETER_COMPARISONS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return few
}

// simulate calls f with the numbers below n, each with a generator of its own.
func simulate(n int, f func(i int, rng *rand.Rand)) {
	var wg sync.WaitGroup
	room := make(chan struct{}, 4)
	for i := range n {
		room <- struct{}{}
		wg.Go(func() {
			f(i, rand.New(rand.NewPCG(uint64(i), 20260101)))
			<-room
		})
	}
	wg.Wait()
}

// wilson returns the 95 % interval of a share, of k in n.
func wilson(k, n int) (low, high float64) {
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	middle, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return (middle - half) / (1 + z*z/m), (middle + half) / (1 + z*z/m)
}

// TestFalseAlarms: of comparisons of like with like, at most 5 % have any row
// that says slower or faster. The sides have 30 to 240 slices each.
func TestFalseAlarms(t *testing.T) {
	n := comparisons(t, 8)
	var mu sync.Mutex
	var alarms, rows, judged int
	simulate(n, func(_ int, rng *rand.Rand) {
		w := newWorld(rng)
		before := w.report(rng, 30+rng.IntN(211), 1)
		after := w.report(rng, 30+rng.IntN(211), 1)
		c, err := Reports(before, after, Options{})
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.Error(err)
			return
		}
		any := 0
		for _, r := range c.Rows {
			if r.Verdict == Slower || r.Verdict == Faster {
				any = 1
				rows++
			}
		}
		alarms += any
		judged += c.Intervals
	})
	low, high := wilson(alarms, n)
	t.Logf("%d of %d comparisons of like with like have a row that says slower or faster: %.1f %% (95 %% interval: %.1f to %.1f %%), %d rows; %d intervals a comparison",
		alarms, n, 100*float64(alarms)/float64(n), 100*low, 100*high, rows, judged/n)
	if low > 0.05 {
		t.Error("more than 5 %")
	}
}

// TestPower: how often a change of one stage in one path is seen, in at most
// 100 comparisons. Those who want other figures may change the table.
func TestPower(t *testing.T) {
	n := min(comparisons(t, 5), 100)
	tests := []struct {
		name   string
		slices int
		slower float64
		least  [2]float64 // seen at p50 and at p99, at least
		world  world
	}{
		{"quiet", 60, 1.2, [2]float64{0.5, 0.2}, world{correlation: 0.5, common: 0.02, own: 0.02, day: 0.3, rate: 200}},
		{"levels ±10 %", 60, 1.2, [2]float64{}, world{correlation: 0.5, common: 0.07, own: 0.07, day: 0.3, rate: 200}},
		{"levels ±10 %", 240, 1.2, [2]float64{0.5, 0}, world{correlation: 0.5, common: 0.07, own: 0.07, day: 0.3, rate: 200}},
		{"levels ±20 %", 240, 1.2, [2]float64{}, world{correlation: 0.7, common: 0.14, own: 0.14, day: 0.3, rate: 200}},
		{"levels ±10 % and bursts", 240, 1.2, [2]float64{}, world{correlation: 0.5, common: 0.07, own: 0.07, day: 0.3, rate: 200, burst: 4, gap: 100}},
	}
	for i := range tests {
		tt := &tests[i]
		if n < 20 && i > 0 {
			break // the short test
		}
		tt.world.skew, tt.world.paths, tt.world.stages = 0.8, simulatedPaths, simulatedStages
		for k := range tt.world.spread {
			tt.world.spread[k] = 0.6
		}
		var mu sync.Mutex
		var seen [2]int
		simulate(n, func(_ int, rng *rand.Rand) {
			c, err := Reports(tt.world.report(rng, tt.slices, 1), tt.world.report(rng, tt.slices, tt.slower), Options{})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			for _, r := range c.Rows {
				if r.Key == "path0" && r.Stage == "stage0" {
					for k, ch := range r.Changes {
						if ch.Verdict == Slower {
							seen[k]++
						}
					}
				}
			}
		})
		t.Logf("%s, %d slices, %+.0f %%: seen at p50 in %.0f %%, at p99 in %.0f %% of %d", tt.name, tt.slices, 100*(tt.slower-1),
			100*float64(seen[0])/float64(n), 100*float64(seen[1])/float64(n), n)
		for k, least := range tt.least {
			if float64(seen[k]) < least*float64(n) {
				t.Errorf("%s: seen %d of %d, want at least %v of them", tt.name, seen[k], n, least)
			}
		}
	}
}

// TestManyPaths: of 500 paths, one takes 20 % longer. It has 9,760 decisions on
// each side. In the first case so has each of the other paths, and in the
// second case they have ever fewer. (A median of 9,760 decisions in all 500
// paths, which are 20 in each, varies by more than 20 %.) A report of 500 paths
// has 33 to 65 slices. The first case needs 60 of them, the second only 33.
func TestManyPaths(t *testing.T) {
	n := comparisons(t, 2)
	for _, tt := range []struct {
		name   string
		slices int
		skew   float64
	}{{"all alike", 60, 0}, {"one busy path", 33, 1}} {
		w := world{correlation: 0.5, common: 0.02, own: 0.02, rate: 9760 / float64(tt.slices), skew: tt.skew, paths: 500, stages: 1}
		for k := range w.spread {
			w.spread[k] = 0.7
		}
		var mu sync.Mutex
		var found, alarms, others int
		simulate(n, func(_ int, rng *rand.Rand) {
			before, after, slower := w.report(rng, tt.slices, 1), w.report(rng, tt.slices, 1), w.report(rng, tt.slices, 1.2)
			healthy, err := Reports(before, after, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			changed, err := Reports(before, slower, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if v := healthy.Rows[0].Verdict; v == Slower || v == Faster {
				alarms++
			}
			for _, r := range changed.Rows {
				switch {
				case r.Verdict != Slower && r.Verdict != Faster:
				case r.Key == "path0":
					found++
				default:
					others++
				}
			}
		})
		low, _ := wilson(alarms, n)
		t.Logf("%s: found in %d of %d comparisons, with %d others; %d false alarms without a change", tt.name, found, n, others, alarms)
		if found < n*9/10 {
			t.Errorf("%s: +20 %% of one path found in %d of %d comparisons, want nine tenths", tt.name, found, n)
		}
		if low > 0.05 {
			t.Errorf("%s: %d of %d comparisons of like with like raise an alarm, want at most 5 %%", tt.name, alarms, n)
		}
	}
}
