// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/internal/race"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

// TestCollectAllocations holds Collect to three allocations for each histogram,
// the slices that its message has, and to little for all the rest, the copy of
// the rollup included.
func TestCollectAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	const histograms, rest = 84, 60
	stages := []rollup.Stage{{Name: "s0"}, {Name: "s1"}, {Name: "s2"}, {Name: "s3"}}
	r := newRollup(t, rollup.Options{Stages: stages, PathStages: []string{"s0", "s1", "s2", "s3"}, Bounds: prom.DefaultBounds()})
	for range 100 {
		for i := range 80 {
			r.Add(rollup.Decision{Path: fmt.Sprint("p", i/4), Outcome: rollup.Allowed}, map[string]any{fmt.Sprintf("timer_s%d_ns", i%4): i*i + 1})
		}
	}
	c := collector(t, r, prom.Options{})
	ch := make(chan prometheus.Metric, 2000)
	collect := func() {
		c.Collect(ch)
		for len(ch) > 0 {
			<-ch
		}
	}
	if got := testing.AllocsPerRun(20, collect); got > 3*histograms+rest {
		t.Errorf("%v allocations for %d histograms, want %d or fewer", got, histograms, 3*histograms+rest)
	} else {
		t.Log(got)
	}
}
