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
	"github.com/regometer/regometer/rollup"
)

// TestFlood adds a million decisions of which each has a path, a stage and a
// counter that no other has. Series and memory stay within bounds. It does not
// run in parallel with others, whose memory it would measure.
func TestFlood(t *testing.T) {
	decisions := 1_000_000
	if race.Enabled || testing.Short() {
		decisions = 50_000
	}
	before := heap()
	o := rollup.Options{Limits: rollup.Limits{Stages: 16, Counters: 16}}
	r := newRollup(t, o)
	random := rand.New(rand.NewPCG(1, 2))
	numbers := make([]rollup.Number, 3)
	for range decisions {
		id := strconv.FormatUint(random.Uint64(), 36)
		numbers[0] = rollup.Number{Key: "timer_" + id + "_ns", Value: random.Int64() >> 30}
		numbers[1] = rollup.Number{Key: "counter_" + id, Value: 1}
		numbers[2] = rollup.Number{Key: "unknown_" + id, Value: 1}
		r.AddNumbers(rollup.Decision{Path: id, Outcome: rollup.Error, Code: id}, numbers)
	}
	if grown := int64(heap()) - int64(before); grown > 1<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
	c := contentsOf(t, r)
	checkSize(t, c, o)
	s, n := sumsOf(c), uint64(decisions)
	if s.outcomes[rollup.Error] != n || s.errors != n || s.counters != n || s.stages.count+s.unfinished[rollup.CauseFailed] != n {
		t.Errorf("%d decisions were added, there are %+v", decisions, s)
	}
	if len(c.Outcomes) != 51 || len(c.Stages) != 17 || len(c.Counters) != 17 {
		t.Errorf("%d paths, %d stages and %d counters: not all labels are used", len(c.Outcomes), len(c.Stages), len(c.Counters))
	}
	runtime.KeepAlive(r)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // what the first one finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestNamesAreCopied: a label does not keep alive the buffer that it was cut
// from.
func TestNamesAreCopied(t *testing.T) {
	before := heap()
	r := newRollup(t, rollup.Options{Limits: rollup.Limits{Stages: 16, Counters: 16}})
	rest := strings.Repeat("x", 1<<20)
	cut := func(name string, i int) string {
		buffer := fmt.Sprintf(name, i) + rest
		return buffer[:len(buffer)-len(rest)]
	}
	for i := range 16 {
		r.AddNumbers(rollup.Decision{Path: cut("path %d", i)}, []rollup.Number{
			{Key: cut("timer_t%d_ns", i), Value: 1}, {Key: cut("counter_c%d", i), Value: 1},
		})
	}
	if grown := int64(heap()) - int64(before); grown > 1<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
	if p := snapshotOf(r).Paths; len(p) < 2 || p[0].Label != "path 0" {
		t.Errorf("%+v", p)
	}
}
