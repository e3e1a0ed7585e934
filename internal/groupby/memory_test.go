// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
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
		{"many paths", 50_000, 20, day, false, 60, 50_000, 1},
		{"a day", 1000, 1000, day, false, 40, 1000, 23},
		{"few paths", 10, 100_000, day, false, 8, 10, 181},
		{"invented paths", 1_000_000, 1, day, false, 60, 65_537, 1},
		{"invented names", 20_000, 10, 0, true, 30, 20_000, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := liveBytes()
			g := New(Limits{})
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
			for x := range g.All(false) {
				groups++
				for _, n := range x.Outcomes {
					decisions += n
				}
			}
			parts := len(g.Get("", true, nil).Slices)
			if decisions != uint64(test.keys*test.each) || groups != test.groups || parts != test.slices {
				t.Errorf("%d decisions in %d groups and %d slices, want %d in %d and %d",
					decisions, groups, parts, test.keys*test.each, test.groups, test.slices)
			}
			runtime.KeepAlive(g)
		})
	}
}

// TestForgottenNames: names that are only asked for take no memory after
// Forget, and what a group has of names that lost their room takes none, though
// nothing is read meanwhile. It does not run in parallel with others, whose
// memory it would measure.
func TestForgottenNames(t *testing.T) {
	const asked, used = 4000, 4000
	names := make([][]byte, asked+used)
	for i := range names {
		names[i] = fmt.Appendf(nil, "%0500d", i)
	}
	slices.SortFunc(names, func(a, b []byte) int { return cmp.Compare(keyHash(b), keyHash(a)) }) // each one displaces another
	g := New(Limits{Names: 10})
	before := liveBytes()
	for i, name := range names {
		number := g.Metric(fmt.Appendf(nil, "timer_%s_ns", name))
		if i >= asked {
			g.Add(nil, 0, outcome.Allowed, "", []logread.Measure{{Metric: number, Value: 1}})
		} else if i%1000 == 999 {
			g.Forget()
		}
	}
	if grown := int64(liveBytes()) - int64(before); grown > 1<<19 {
		t.Errorf("%d bytes more than before", grown)
	}
	if x := g.Get("", true, nil); len(x.Stages) != 11 || x.Outcomes[outcome.Allowed] != used {
		t.Errorf("%d stages of %v decisions", len(x.Stages), x.Outcomes)
	}
	runtime.KeepAlive(names)
}

// TestAllocations: once all is known, adding allocates nothing.
func TestAllocations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	g := New(Limits{Groups: 4, Names: 2})
	for name, key := range map[string]string{"a group": "system/policies/1", "the empty key": "", "other": "other"} {
		for range 5000 {
			g.Add([]byte(key), 0, outcome.Failed, "internal_error", typicalMeasures(g, random))
		}
		measures := typicalMeasures(g, random)
		if n := testing.AllocsPerRun(100, func() { g.Add([]byte(key), 0, outcome.Failed, "internal_error", measures) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	for i := range 100 { // these take all the room
		g.Add(strconv.AppendInt(nil, int64(i), 10), 0, outcome.Allowed, "", nil)
		g.Add(nil, 0, outcome.Allowed, "", []logread.Measure{{Metric: g.Metric([]byte("timer_t" + strconv.Itoa(i) + "_ns")), Value: 1}})
	}
	measures := typicalMeasures(g, random)
	measures[3].Metric = g.Metric([]byte("timer_without_room_ns"))
	before, key := g.Overflow(), []byte("without a group")
	if n := testing.AllocsPerRun(100, func() { g.Add(key, 0, outcome.Allowed, "", measures) }); n != 0 {
		t.Errorf("a key without room: %v allocations", n)
	}
	if after := g.Overflow(); after != before+101 {
		t.Errorf("from %d decisions without room to %d", before, after)
	}
}

func liveBytes() uint64 {
	runtime.GC()
	runtime.GC() // what the first one finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// typicalMeasures are five timers and two counters, as a POST to a server's
// Data API has them.
func typicalMeasures(g *Groups, r *rand.Rand) []logread.Measure {
	whole := 200e3 * math.Exp(r.NormFloat64())
	var measures []logread.Measure
	for _, m := range []struct {
		key  string
		part float64
	}{
		{"counter_rego_builtin_http_send_network_requests", 1e-5},
		{"counter_server_query_cache_hit", 1e-5},
		{"timer_rego_builtin_http_send_ns", 0.4},
		{"timer_rego_input_parse_ns", 0.1},
		{"timer_rego_query_compile_ns", 0.01},
		{"timer_rego_query_eval_ns", 0.7},
		{"timer_server_handler_ns", 1},
	} {
		measures = append(measures, logread.Measure{Metric: g.Metric([]byte(m.key)), Value: 1 + int64(whole*m.part)})
	}
	return measures
}
