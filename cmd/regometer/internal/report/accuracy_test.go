// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestAccuracy: whatever durations from 1 ns to 1 hour a log has, in any order,
// in any parts, after any merging and saving of the parts, the report's
// quantiles are within 1.1 % of the exact ones, plus the half nanosecond of
// rounding to integers. Buckets that are coarser for a large range would fail.
func TestAccuracy(t *testing.T) {
	t.Parallel()
	const hour = 3.6e12
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 41))
		// Cache hits, answers and time-outs: log-normal around random centres.
		var centres [3]float64
		for i := range centres {
			centres[i] = rng.Float64() * math.Log(hour)
		}
		values := []int64{1, hour}
		for range 1 + rng.IntN(3000) {
			v := math.Exp(centres[rng.IntN(len(centres))] + float64(rng.IntN(3))*rng.NormFloat64())
			values = append(values, int64(min(max(v, 1), hour)))
		}
		rng.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })

		var parts []*Data
		for rest := values; len(rest) > 0; {
			n := 1 + rng.IntN(len(rest))
			var log strings.Builder
			for i, v := range rest[:n] {
				fmt.Fprintf(&log, `{"decision_id":"%d","path":"p","timestamp":"2026-01-02T%02d:00:00Z","metrics":{"timer_rego_builtin_http_send_ns":%d}}`+"\n", i, i%24, v)
			}
			parts, rest = append(parts, readLog(t, log.String(), Options{})), rest[n:]
		}
		for { // merge and save any of the parts
			i := rng.IntN(len(parts))
			loaded := saveAndLoad(t, parts[i])
			if parts = slices.Delete(parts, i, i+1); len(parts) == 0 {
				parts = append(parts, loaded)
				break
			}
			if err := parts[rng.IntN(len(parts))].Merge(loaded); err != nil {
				t.Fatal(err)
			}
		}

		g := parts[0].Report().Total
		slices.Sort(values)
		exact := exactQuantiles(values)
		for i, got := range g.Figures(stage(g.Stages, httpStage)).Quantiles {
			if math.Abs(float64(got-exact[i])) > 0.011*float64(exact[i])+0.5 {
				t.Errorf("seed %d: %s is %d ns, exactly %d ns: a difference of %.2f %%", seed, quantileNames[i], got, exact[i],
					100*math.Abs(float64(got)/float64(exact[i])-1))
			}
		}
	}
}

// exactQuantiles returns the quantiles of sorted durations, by nearest rank.
func exactQuantiles(sorted []int64) (q [len(ranks)]int64) {
	for i, rank := range ranks {
		q[i] = sorted[int(math.Ceil(rank*float64(len(sorted))))-1]
	}
	return q
}
