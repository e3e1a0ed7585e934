// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// TestMemory: what Groups take, in megabytes. It does not run in parallel
// with others, whose memory it would measure.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	const day = 86_400e9
	for _, test := range []struct {
		name           string
		keys, each     int
		span           int64 // of time
		names          bool  // whether each decision has names of its own
		most           int   // megabytes
		groups, slices int
	}{
		{"many paths", 50_000, 20, day, false, 80, 50_000, 1},
		{"a day", 1000, 1000, day, false, 40, 1000, 23},
		{"few paths", 10, 100_000, day, false, 40, 10, 181},
		{"invented paths", 1_000_000, 1, day, false, 80, 65_537, 1},
		{"invented names", 20_000, 10, 0, true, 80, 20_000, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := liveBytes()
			g := newGroups(t, Limits{})
			random := rand.New(rand.NewPCG(1, 2))
			var pool [1000][]logread.Measure
			for i := range pool {
				pool[i] = typicalMeasures(g, random)
			}
			var key []byte
			for i := range test.keys * test.each {
				key = strconv.AppendInt(append(key[:0], "system/policies/"...), int64(i%test.keys), 10)
				measures := pool[random.IntN(len(pool))]
				if test.names {
					id := strconv.FormatUint(random.Uint64(), 36)
					measures[0].Metric = g.Metric([]byte("counter_" + id))
					measures[2].Metric = g.Metric([]byte("timer_" + id + "_ns"))
				}
				time := 1_700_000_000e9 + int64(i)*(test.span/int64(test.keys*test.each))
				g.Add(key, time, outcome.Allowed, "", measures)
			}
			grown := float64(int64(liveBytes())-int64(before)) / (1 << 20)
			t.Logf("%.1f MB, slices of %v s", grown, g.Width()/1e9)
			if grown > float64(test.most) {
				t.Errorf("%.1f MB, at most %d are expected", grown, test.most)
			}
			decisions, groups := uint64(0), 0
			for x := range g.Sums() {
				groups++
				for _, n := range x.Outcomes {
					decisions += n
				}
			}
			parts := len(g.Total().Slices)
			if decisions != uint64(test.keys*test.each) || groups != test.groups || parts != test.slices {
				t.Errorf("%d decisions in %d groups and %d slices, want %d in %d and %d",
					decisions, groups, parts, test.keys*test.each, test.groups, test.slices)
			}
			runtime.KeepAlive(g)
		})
	}
}

// TestForget: names that are only asked for, and names that lost their
// room, take no memory after Forget. It does not run in parallel with others,
// whose memory it would measure.
func TestForget(t *testing.T) {
	const rounds, names = 40, 1000
	g := newGroups(t, Limits{Names: 10})
	long := strings.Repeat("x", 900)
	before := liveBytes()
	for round := range 2 * rounds {
		for i := range names {
			number := g.Metric(fmt.Appendf(nil, "timer_%s_%d_%d_ns", long, round, i))
			if round >= rounds {
				g.Add(nil, 0, outcome.Allowed, "", []logread.Measure{{Metric: number, Value: 1}})
			}
		}
		g.Forget()
	}
	if grown := int64(liveBytes()) - int64(before); grown > 1<<20 {
		t.Errorf("%d bytes more than before", grown)
	}
	if x := g.Total(); len(x.Stages) != 11 || x.Outcomes[outcome.Allowed] != rounds*names || g.Overflow().Stages != rounds*names-10 {
		t.Errorf("%d stages of %v decisions, and %+v", len(x.Stages), x.Outcomes, g.Overflow())
	}
}

// TestSweep: what a group has of names that lost their room takes no
// memory, though nothing is read meanwhile. It does not run in parallel with
// others, whose memory it would measure.
func TestSweep(t *testing.T) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	slices.SortFunc(names, func(a, b string) int { // so that each one displaces another
		return cmp.Compare(keyHash([]byte(b)), keyHash([]byte(a)))
	})
	g := newGroups(t, Limits{Names: 10})
	before := liveBytes()
	for _, name := range names {
		g.Add(nil, 0, outcome.Allowed, "", []logread.Measure{{Metric: g.Metric([]byte("timer_" + name + "_ns")), Value: 1}})
	}
	if grown := int64(liveBytes()) - int64(before); grown > 500_000 {
		t.Errorf("%d bytes more than before", grown)
	}
	if got, want := g.Overflow().Stages, uint64(len(names)-10); got != want {
		t.Errorf("%d timers had no room, want %d", got, want)
	}
}

// TestAllocations: once all is known, adding allocates nothing.
func TestAllocations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	g := newGroups(t, Limits{Groups: 4, Names: 2})
	for name, key := range map[string]string{"a group": "system/policies/1", "the empty key": "", "other": "other"} {
		for range 5000 {
			g.Add([]byte(key), 0, outcome.Error, "internal_error", typicalMeasures(g, random))
		}
		measures := typicalMeasures(g, random)
		if n := testing.AllocsPerRun(100, func() { g.Add([]byte(key), 0, outcome.Error, "internal_error", measures) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	for i := range 100 { // these take all the room
		g.Add(strconv.AppendInt(nil, int64(i), 10), 0, outcome.Allowed, "", nil)
		g.Add(nil, 0, outcome.Allowed, "", []logread.Measure{{Metric: g.Metric([]byte("timer_t" + strconv.Itoa(i) + "_ns")), Value: 1}})
	}
	measures := typicalMeasures(g, random)
	measures[3].Metric = g.Metric([]byte("timer_without_room_ns"))
	before := g.Overflow()
	i := 0
	key := make([]byte, 0, 100)
	if n := testing.AllocsPerRun(2000, func() {
		i++
		key = strconv.AppendInt(append(key[:0], "without a group "...), int64(i), 10)
		if keyHash(key) < 1<<60 {
			return // this one may have room
		}
		g.Add(key, 0, outcome.Allowed, "", measures)
	}); n != 0 {
		t.Errorf("a key without room: %v allocations", n)
	}
	if g.Overflow().Decisions < before.Decisions+1000 {
		t.Errorf("from %+v to %+v", before, g.Overflow())
	}
}

func liveBytes() uint64 {
	runtime.GC()
	runtime.GC() // what the first one finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
