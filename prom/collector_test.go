// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/regometer/regometer/internal/race"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/prom"
	"github.com/regometer/regometer/rollup"
)

func collector(t testing.TB, r *rollup.Rollup, o prom.Options) *prom.Collector {
	t.Helper()
	c, err := prom.NewCollector(r, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestWrite checks that a metric is the same each time it is written, even
// after a registry's wrapper has added labels and sorted them.
func TestWrite(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	fill(r, 10)
	ch := make(chan prometheus.Metric, 1000)
	collector(t, r, prom.Options{}).Collect(ch)
	close(ch)
	for m := range ch {
		var first, second dto.Metric
		if err := m.Write(&first); err != nil {
			t.Fatal(err)
		}
		want := proto.Clone(&first)
		slices.Reverse(append(first.Label, &dto.LabelPair{}))
		if err := m.Write(&second); err != nil || !proto.Equal(&second, want) {
			t.Errorf("%v: %v, %v, want %v", m.Desc(), &second, err, want)
		}
	}
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	r := newRollup(t, rollup.Options{})
	fill(r, 10)
	for name := range gather(t, newRegistry(t, r, prom.Options{Namespace: "azAZ_09"})) {
		if !strings.HasPrefix(name, "azAZ_09_decision") {
			t.Errorf("the namespace does not begin %s", name)
		}
	}
	for _, namespace := range []string{"1opa", "opa-server", "opà", "opa:", "@", "[", "`", "{"} {
		if _, err := prom.NewCollector(r, prom.Options{Namespace: namespace}); err == nil || !strings.Contains(err.Error(), "letters, digits and underscores") {
			t.Errorf("%s: error %v", namespace, err)
		}
	}
	if _, err := prom.NewCollector(nil, prom.Options{}); err == nil {
		t.Error("no error without a rollup")
	}
}

// TestCollectAllocations allows Collect three allocations for each histogram,
// which are the slices of its message, and few for everything else, including
// the copy of the rollup.
func TestCollectAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	const histograms, rest = 84, 60
	stages := []rollup.Stage{{Name: "s0"}, {Name: "s1"}, {Name: "s2"}, {Name: "s3"}}
	r := newRollup(t, rollup.Options{Stages: stages, PathStages: []string{"s0", "s1", "s2", "s3"}, Bounds: prom.DefaultBounds()})
	for range 100 {
		for i := range 80 {
			r.Add(rollup.Decision{Path: fmt.Sprint("p", i/4), Outcome: outcome.Allowed, Numbers: numbers(map[string]int64{fmt.Sprintf("timer_s%d_ns", i%4): int64(i*i + 1)})})
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
