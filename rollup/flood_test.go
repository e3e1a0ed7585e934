// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package rollup_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/race"
	"github.com/regometer/regometer/outcome"
	"github.com/regometer/regometer/rollup"
)

// TestFlood adds a million decisions, each with a path, a stage and a counter
// of its own. Series and memory stay within bounds. The test is not parallel,
// because it would measure the memory of others.
func TestFlood(t *testing.T) {
	decisions := 1_000_000
	if race.Enabled || testing.Short() {
		decisions = 50_000
	}
	before := heap()
	o := rollup.Options{}
	r := newRollup(t, o)
	random := rand.New(rand.NewPCG(1, 2))
	numbers := make([]rollup.Number, 3)
	for range decisions {
		id := strconv.FormatUint(random.Uint64(), 36)
		numbers[0] = rollup.Number{Key: "timer_" + id + "_ns", Value: random.Int64() >> 30}
		numbers[1] = rollup.Number{Key: "counter_" + id, Value: 1}
		numbers[2] = rollup.Number{Key: "unknown_" + id, Value: 1}
		r.Add(rollup.Decision{Path: id, Outcome: outcome.Failed, Code: id, Numbers: numbers})
	}
	if grown := int64(heap()) - int64(before); grown > 1<<20 {
		t.Errorf("the memory grew by %d bytes, want 1 MiB or less", grown)
	}
	c := contentsOf(t, r)
	checkSize(t, c, o)
	s, n := sumsOf(c), uint64(decisions)
	if s.outcomes[outcome.Failed] != n || s.errors != n || s.counters != n || s.stages.count+s.unfinished[causeFailed] != n {
		t.Errorf("the sums are %+v, want those of %d decisions", s, decisions)
	}
	if len(c.Outcomes) != 51 {
		t.Errorf("%d paths have a label, want 51", len(c.Outcomes))
	}
	runtime.KeepAlive(r)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // frees what the first one finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestPathsAreCopied checks that a label does not keep the request in memory
// that it comes from.
func TestPathsAreCopied(t *testing.T) {
	before := heap()
	r := newRollup(t, rollup.Options{})
	rest := strings.Repeat("x", 1<<20)
	for i := range 16 {
		request := fmt.Sprintf("path %d", i) + rest
		r.Add(rollup.Decision{Path: request[:len(request)-len(rest)]})
	}
	if grown := int64(heap()) - int64(before); grown > 1<<20 {
		t.Errorf("the memory grew by %d bytes, want 1 MiB or less", grown)
	}
	if labels := r.Labels(); len(labels) != 16 || labels[0] != "path 0" {
		t.Errorf("the labels are %q, want path 0 to path 15", labels)
	}
}
