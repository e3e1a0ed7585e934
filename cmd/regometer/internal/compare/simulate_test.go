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

	"github.com/regometer/regometer/cmd/regometer/internal/contrast"
	"github.com/regometer/regometer/cmd/regometer/internal/report"
	"github.com/regometer/regometer/outcome"
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

	denied []float64 // share of the denied decisions of each path
	sway   float64   // standard deviation of a minute's log odds of it
	day    float64   // amplitude of the day's curve of load, on the log scale
	rate   float64   // decisions a minute of the first path; path n has rate/n^0.8
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
		denied:      []float64{0.2, 0.0005, 0.01, 0.5, 0.97},
		sway:        0.6 * rng.Float64(),
		rate:        100,
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

// decide draws the outcomes of a report. In a burst, a tenth of the decisions
// fail. The share denied of the first path is larger by more.
func (w *world) decide(rng *rand.Rand, r *report.Report, more float64) {
	for k := range r.Groups.Len() {
		g := r.Groups.At(k)
		levels, bursts := w.levels(rng, len(g.Slices)), w.bursts(rng, len(g.Slices))
		p := w.denied[k%len(w.denied)]
		if k == 0 {
			p += more
		}
		decide(g, func(i int, n uint64) (of [6]uint64) {
			denied := 1 / (1 + (1/p-1)*math.Exp(w.sway*levels[i]))
			for range n {
				switch x := rng.Float64(); {
				case bursts[i] > 0 && x < 0.1:
					of[outcome.Failed]++
				case rng.Float64() < denied:
					of[outcome.Denied]++
				default:
					of[outcome.Allowed]++
				}
			}
			return of
		})
	}
}

// report draws a report of n slices. The first stage of the first path takes
// slower times as long, and more decisions of the path are denied.
func (w *world) report(t *testing.T, rng *rand.Rand, n int, slower, more float64) *report.Report {
	var all []stage
	common, allBursts := w.levels(rng, n), w.bursts(rng, n)
	for path := range simulatedPaths {
		own, bursts := w.levels(rng, n), allBursts
		if !w.together {
			bursts = w.bursts(rng, n)
		}
		stages := make([]stage, simulatedStages)
		for i := range n {
			day := w.day * math.Sin(2*math.Pi*float64(i)/240)
			decisions := 1 + int(w.rate/math.Pow(float64(path+1), 0.8)*math.Exp(day+0.2*rng.NormFloat64()))
			level := math.Log(200e3) + w.common*common[i] + w.own*own[i] + bursts[i] + 0.3*day
			for k := range stages {
				factor := 1.0
				if path == 0 && k == 0 {
					factor = slower
				}
				values := make([]int64, decisions)
				for j := range values {
					values[j] = int64(factor * math.Exp(level+w.spread[path*simulatedStages+k]*rng.NormFloat64()))
				}
				s := &stages[k]
				s.key, s.name, s.slices = fmt.Sprint("path", path), fmt.Sprint("stage", k), append(s.slices, snapshotOf(values...))
			}
		}
		all = append(all, stages...)
	}
	r := reportOf(t, all...)
	w.decide(rng, r, more)
	return r
}

// simulate calls f few times, or as often as the environment says, but at most
// so many times. Each call has a generator of its own. It returns how often.
func simulate(few, most int, f func(rng *rand.Rand)) int {
	n := few
	if set, err := strconv.Atoi(os.Getenv("REGOMETER_COMPARISONS")); err == nil {
		n = min(set, most)
	}
	var wg sync.WaitGroup
	room := make(chan struct{}, 4)
	for i := range n {
		room <- struct{}{}
		wg.Go(func() {
			f(rand.New(rand.NewPCG(uint64(i), 20260101)))
			<-room
		})
	}
	wg.Wait()
	return n
}

// alarms returns the number of rows that have changed.
func alarms(rows []Row) int { return len(rows) - count(rows)[Noise] - count(rows)[TooLittle] }

// TestFalseAlarms: of comparisons of like with like, at most 5 % have any row
// that says changed, slower or faster. The sides have 30 to 240 slices each.
func TestFalseAlarms(t *testing.T) {
	var mu sync.Mutex
	var any, decisions, judged int
	n := simulate(8, math.MaxInt, func(rng *rand.Rand) {
		w := newWorld(rng)
		before := w.report(t, rng, 30+rng.IntN(211), 1, 0)
		after := w.report(t, rng, 30+rng.IntN(211), 1, 0)
		c := compareOf(t, before, after)
		mu.Lock()
		defer mu.Unlock()
		decisions += min(1, alarms(c.Decisions))
		any += min(1, alarms(c.Decisions)+alarms(c.Stages))
		judged += c.Intervals
	})
	low, high := contrast.Wilson(float64(any)/float64(n), float64(n))
	t.Logf("%d of %d comparisons of like with like have a row that says changed, slower or faster: %.1f %% (95 %% interval: %.1f to %.1f %%); %d have a row that says changed; %d intervals a comparison",
		any, n, 100*float64(any)/float64(n), 100*low, 100*high, decisions, judged/n)
	if low > 0.05 {
		t.Error("more than 5 %")
	}
}

// TestPower: how often a change of +20 % of one stage in one path is seen, and
// one of its denied decisions from 20 % to 25 %, in at most 100 comparisons,
// without others and without a false alarm. Those who want other figures may
// change the table.
func TestPower(t *testing.T) {
	none := [3]float64{}
	for _, tt := range []struct {
		name   string
		slices int
		least  [3]float64 // seen at p50, at p99, and of the denied, at least
		world  world
	}{
		{"quiet", 60, [3]float64{0.5, 0.2, 0.5}, world{correlation: 0.5, common: 0.02, own: 0.02, sway: 0.1, day: 0.3, rate: 200}},
		{"levels ±10 %", 60, none, world{correlation: 0.5, common: 0.07, own: 0.07, sway: 0.3, day: 0.3, rate: 200}},
		{"levels ±10 %", 240, [3]float64{0.5, 0, 0.5}, world{correlation: 0.5, common: 0.07, own: 0.07, sway: 0.3, day: 0.3, rate: 200}},
		{"levels ±20 %", 240, none, world{correlation: 0.7, common: 0.14, own: 0.14, sway: 0.6, day: 0.3, rate: 200}},
		{"levels ±10 % and bursts", 240, none, world{correlation: 0.5, common: 0.07, own: 0.07, sway: 0.3, day: 0.3, rate: 200, burst: 4, gap: 100}},
	} {
		if os.Getenv("REGOMETER_COMPARISONS") == "" && (tt.slices > 60 || tt.least == none) {
			continue // in the short test
		}
		for k := range tt.world.spread {
			tt.world.spread[k] = 0.6
		}
		tt.world.denied = []float64{0.2, 0.01, 0.97}
		var mu sync.Mutex
		var others, wrong int
		seen := map[string]int{}
		n := simulate(2, 100, func(rng *rand.Rand) {
			before := tt.world.report(t, rng, tt.slices, 1, 0)
			healthy := compareOf(t, before, tt.world.report(t, rng, tt.slices, 1, 0))
			changed := compareOf(t, before, tt.world.report(t, rng, tt.slices, 1.2, 0.05))
			mu.Lock()
			defer mu.Unlock()
			wrong += min(1, alarms(healthy.Decisions)+alarms(healthy.Stages))
			for _, r := range slices.Concat(changed.Decisions, changed.Stages) {
				if r.Key != "path0" || r.Stage != "stage0" && r.Stage != "" {
					others += alarms([]Row{r})
					continue
				}
				for _, ch := range r.Changes {
					if ch.Verdict == Slower || ch.Verdict == More {
						seen[ch.Name]++
					}
				}
			}
		})
		low, _ := contrast.Wilson(float64(wrong)/float64(n), float64(n))
		t.Logf("%s, %d slices: seen at p50 in %d, at p99 in %d, of the denied in %d of %d, with %d others; %d false alarms without a change",
			tt.name, tt.slices, seen["p50"], seen["p99"], seen["denied"], n, others, wrong)
		for k, name := range []string{"p50", "p99", "denied"} {
			if float64(seen[name]) < tt.least[k]*float64(n) {
				t.Errorf("%s: %s seen %d of %d, want at least %v of them", tt.name, name, seen[name], n, tt.least[k])
			}
		}
		if low > 0.05 {
			t.Errorf("%s: %d of %d comparisons of like with like raise an alarm, want at most 5 %%", tt.name, wrong, n)
		}
	}
}
