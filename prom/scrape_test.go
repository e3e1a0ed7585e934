// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/rollup"
)

// TestSnapshotIsNotShared checks that a second Collect does not find the
// snapshot that the first one still reads, and that later ones use it again.
func TestSnapshotIsNotShared(t *testing.T) {
	t.Parallel()
	r, err := rollup.New(rollup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var c *Collector
	var shared *rollup.Snapshot
	c, err = NewCollector(r, Options{MoreSeries: func() int { // called while Collect reads the snapshot
		shared = c.spare.Load()
		return 0
	}})
	if err != nil {
		t.Fatal(err)
	}
	var first *rollup.Snapshot
	for range 3 {
		c.Collect(make(chan prometheus.Metric, 100))
		if shared != nil {
			t.Error("another Collect could take the snapshot")
		}
		if first == nil {
			first = c.spare.Load()
		}
		if s := c.spare.Load(); s == nil || s != first {
			t.Errorf("snapshot %p, want that of before, %p", s, first)
		}
	}
}
