// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/regometer/regometer/internal/app/report"
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
func (w *world) report(t *testing.T, rng *rand.Rand, n int, slower float64) *report.Report {
	var all []stage
	common, allBursts := w.levels(rng, n), w.bursts(rng, n)
	for path := range w.paths {
		own, bursts := w.levels(rng, n), allBursts
		if !w.together {
			bursts = w.bursts(rng, n)
		}
		stages := make([]stage, w.stages)
		for i := range n {
			day := w.day * math.Sin(2*math.Pi*float64(i)/240)
			decisions := 1 + int(w.rate/math.Pow(float64(path+1), w.skew)*math.Exp(day+0.2*rng.NormFloat64()))
			level := math.Log(200e3) + w.common*common[i] + w.own*own[i] + bursts[i] + 0.3*day
			for k := range stages {
				factor := 1.0
				if path == 0 && k == 0 {
					factor = slower
				}
				values := make([]int64, decisions)
				for j := range values {
					values[j] = int64(factor * math.Exp(level+w.spread[(path*w.stages+k)%len(w.spread)]*rng.NormFloat64()))
				}
				s := &stages[k]
				s.key, s.name, s.slices = fmt.Sprint("path", path), fmt.Sprint("stage", k), append(s.slices, snapshotOf(values...))
			}
		}
		all = append(all, stages...)
	}
	return reportOf(t, all...)
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

func isAlarm(r Row) bool { return r.Verdict == Slower || r.Verdict == Faster }

// TestFalseAlarms: of comparisons of like with like, at most 5 % have any row
// that says slower or faster. The sides have 30 to 240 slices each.
func TestFalseAlarms(t *testing.T) {
	n := comparisons(t, 8)
	var mu sync.Mutex
	var alarms, judged int
	simulate(n, func(_ int, rng *rand.Rand) {
		w := newWorld(rng)
		before := w.report(t, rng, 30+rng.IntN(211), 1)
		after := w.report(t, rng, 30+rng.IntN(211), 1)
		c := compareOf(t, before, after, Options{})
		mu.Lock()
		defer mu.Unlock()
		if slices.ContainsFunc(c.Rows, isAlarm) {
			alarms++
		}
		judged += c.Intervals
	})
	low, high := wilson(alarms, n)
	t.Logf("%d of %d comparisons of like with like have a row that says slower or faster: %.1f %% (95 %% interval: %.1f to %.1f %%); %d intervals a comparison",
		alarms, n, 100*float64(alarms)/float64(n), 100*low, 100*high, judged/n)
	if low > 0.05 {
		t.Error("more than 5 %")
	}
}

// TestPower: how often a change of +20 % of one stage in one path is seen, in
// at most 100 comparisons, without others and without a false alarm. Those who
// want other figures may change the table.
//
// With 500 paths, the path that changes has 9,760 decisions on each side. So
// has each of the other paths, or they have ever fewer. (A median of 9,760
// decisions in all 500 paths, which are 20 in each, varies by more than 20 %.)
// Such a report has 33 to 65 slices. The first case needs 60 of them, the
// second only 33.
func TestPower(t *testing.T) {
	n := min(comparisons(t, 2), 100)
	none := [2]float64{}
	for _, tt := range []struct {
		name   string
		slices int
		least  [2]float64 // seen at p50 and at p99, at least
		spread float64
		world  world
	}{
		{"quiet", 60, [2]float64{0.5, 0.2}, 0.6, world{correlation: 0.5, common: 0.02, own: 0.02, day: 0.3, rate: 200}},
		{"levels ±10 %", 60, none, 0.6, world{correlation: 0.5, common: 0.07, own: 0.07, day: 0.3, rate: 200}},
		{"levels ±10 %", 240, [2]float64{0.5, 0}, 0.6, world{correlation: 0.5, common: 0.07, own: 0.07, day: 0.3, rate: 200}},
		{"levels ±20 %", 240, none, 0.6, world{correlation: 0.7, common: 0.14, own: 0.14, day: 0.3, rate: 200}},
		{"levels ±10 % and bursts", 240, none, 0.6, world{correlation: 0.5, common: 0.07, own: 0.07, day: 0.3, rate: 200, burst: 4, gap: 100}},
		{"500 paths, all alike", 60, [2]float64{0.9, 0}, 0.7, world{correlation: 0.5, common: 0.02, own: 0.02, rate: 9760 / 60., paths: 500, stages: 1}},
		{"500 paths, a busy one", 33, [2]float64{0.9, 0}, 0.7, world{correlation: 0.5, common: 0.02, own: 0.02, rate: 9760 / 33., paths: 500, stages: 1, skew: 1}},
	} {
		if n < 20 && (tt.slices > 60 || tt.least == none) {
			continue // in the short test
		}
		if tt.world.paths == 0 {
			tt.world.skew, tt.world.paths, tt.world.stages = 0.8, simulatedPaths, simulatedStages
		}
		for k := range tt.world.spread {
			tt.world.spread[k] = tt.spread
		}
		var mu sync.Mutex
		var seen [2]int
		var others, alarms int
		simulate(n, func(_ int, rng *rand.Rand) {
			before := tt.world.report(t, rng, tt.slices, 1)
			healthy := compareOf(t, before, tt.world.report(t, rng, tt.slices, 1), Options{})
			changed := compareOf(t, before, tt.world.report(t, rng, tt.slices, 1.2), Options{})
			mu.Lock()
			defer mu.Unlock()
			if isAlarm(healthy.Rows[0]) {
				alarms++
			}
			for _, r := range changed.Rows {
				if r.Key != "path0" || r.Stage != "stage0" {
					if isAlarm(r) {
						others++
					}
					continue
				}
				for k, ch := range r.Changes {
					if ch.Verdict == Slower {
						seen[k]++
					}
				}
			}
		})
		low, _ := wilson(alarms, n)
		t.Logf("%s, %d slices: seen at p50 in %d, at p99 in %d of %d, with %d others; %d false alarms without a change",
			tt.name, tt.slices, seen[0], seen[1], n, others, alarms)
		for k, least := range tt.least {
			if float64(seen[k]) < least*float64(n) {
				t.Errorf("%s: seen %d of %d, want at least %v of them", tt.name, seen[k], n, least)
			}
		}
		if low > 0.05 {
			t.Errorf("%s: %d of %d comparisons of like with like raise an alarm, want at most 5 %%", tt.name, alarms, n)
		}
	}
}
