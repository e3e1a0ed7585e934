// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package prom

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/rollup"
)

// TestSnapshotIsNotShared: a second Collect finds no snapshot that the first
// one still reads, and one that is read no longer is used again.
func TestSnapshotIsNotShared(t *testing.T) {
	t.Parallel()
	r, err := rollup.New(rollup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var c *Collector
	var shared *rollup.Snapshot
	c, err = NewCollector(r, Options{MoreSeries: func() int { // asked while the snapshot is read
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
