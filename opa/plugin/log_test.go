// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/regometer/regometer/rollup"
)

// Clients choose the paths of decisions. A batch remembers neither all of them
// nor long ones.
func TestBatchKeepsFewPaths(t *testing.T) {
	t.Parallel()
	c, err := NewLogCounter(prometheus.NewRegistry(), []byte(`{"paths": {"prefixes": ["p"]}}`), Build{})
	if err != nil {
		t.Fatal(err)
	}
	b := c.NewBatch()
	add := func(path string) { b.Add(rollup.Decision{Path: path, Outcome: rollup.Allowed}) }
	add("p/" + strings.Repeat("x", longestLabel))
	if len(b.recent) > 0 {
		t.Error("the batch remembers a long path")
	}
	for i := range 2 * mostRecent {
		add(fmt.Sprint("p/", i))
	}
	if n := len(b.recent); n != mostRecent {
		t.Errorf("the batch remembers %d paths, want %d", n, mostRecent)
	}
	if n := b.Len(); n != 2*mostRecent+1 {
		t.Errorf("the batch has %d decisions", n)
	}
	b.Count()
	if n := len(b.recent); n != 0 {
		t.Errorf("after the decisions have been counted, the batch remembers %d paths", n)
	}
}
