// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/regometer/regometer/metrics"
)

// Allocation budgets, as exact counts. To what All and Value return, the build
// tag purego adds allocations: see alloc_values_test.go.

// sinks keep what is made from being optimised away.
var (
	sinkMetrics metrics.Metrics
	sinkBytes   []byte
)

const allocRuns = 200

// checkAllocs checks how often f allocates.
func checkAllocs(t *testing.T, what string, atMost float64, f func()) {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	if got := testing.AllocsPerRun(allocRuns, f); got > atMost {
		t.Errorf("%s: %v allocations, want at most %v", what, got, atMost)
	}
}

// record records what OPA's server does for one decision.
func record() metrics.Metrics {
	m := metrics.New()
	m.Timer(metrics.ServerHandler).Start()
	m.Timer(metrics.RegoInputParse).Start()
	m.Timer(metrics.RegoInputParse).Stop()
	m.Timer(metrics.RegoQueryParse).Start()
	m.Timer(metrics.RegoQueryParse).Stop()
	m.Timer(metrics.RegoQueryEval).Start()
	m.Timer(metrics.RegoQueryEval).Stop()
	m.Counter(metrics.ServerQueryCacheHit).Incr()
	m.Timer(metrics.ServerHandler).Stop()
	return m
}

// collectionOf returns a collection of timers, counters and histograms of 100
// scattered values, with names made at run time.
func collectionOf(timers, counters, histograms int, seed uint64) metrics.Metrics {
	rng := rand.New(rand.NewPCG(seed, 12))
	m := metrics.New()
	for i := range timers {
		m.Timer("timer" + strconv.Itoa(i)).Start()
		m.Timer("timer" + strconv.Itoa(i)).Stop()
	}
	for i := range counters {
		m.Counter("counter" + strconv.Itoa(i)).Add(rng.Uint64N(1e6) + 256)
	}
	for i := range histograms {
		h := m.Histogram("histogram" + strconv.Itoa(i))
		for range 100 {
			h.Update(rng.Int64N(1e9))
		}
	}
	return m
}

func TestAllocsOfRecording(t *testing.T) {
	checkAllocs(t, "New", 1, func() { sinkMetrics = metrics.New() })
	checkAllocs(t, "a request", 1, func() { sinkMetrics = record() })

	m := collectionOf(4, 4, 4, 1)
	tm, c, h := m.Timer("timer1"), m.Counter("counter1"), m.Histogram("histogram1")
	for range 3000 {
		h.Update(1000)
	}
	checkAllocs(t, "Start and Stop", 0, func() { tm.Start(); tm.Stop() })
	checkAllocs(t, "Start and Stop by name", 0, func() { m.Timer("timer2").Start(); m.Timer("timer2").Stop() })
	checkAllocs(t, "Int64", 0, func() { tm.Int64() })
	checkAllocs(t, "Incr and Add", 0, func() { c.Incr(); c.Add(1000) })
	checkAllocs(t, "Incr by name", 0, func() { m.Counter("counter2").Incr() })
	value := int64(0)
	checkAllocs(t, "Update of a full reservoir", 0, func() {
		for range 100 {
			value += 999_983
			h.Update(value % 1_000_003)
		}
	})
	checkAllocs(t, "Update by name of a full reservoir", 0, func() { m.Histogram("histogram1").Update(1000) })
}

func TestAllocsOfJSON(t *testing.T) {
	marshal := func(m metrics.Metrics) {
		b, err := m.MarshalJSON()
		if err != nil {
			t.Error(err)
		}
		sinkBytes = b
	}
	buffer := make([]byte, 0, 1<<20)
	appendJSON := func(m metrics.Metrics) {
		b, err := metrics.AppendJSON(buffer[:0], m)
		if err != nil || &b[0] != &buffer[:1][0] {
			t.Errorf("AppendJSON made another buffer (error %v)", err)
		}
	}

	checkAllocs(t, "a request, then MarshalJSON", 2, func() { marshal(record()) })
	checkAllocs(t, "a request, then AppendJSON", 1, func() { appendJSON(record()) })

	// One collection for each run, and one for the run that is not counted.
	fresh := func() func() metrics.Metrics {
		var all []metrics.Metrics
		for i := range allocRuns + 1 {
			all = append(all, collectionOf(0, 0, 10, uint64(i)))
		}
		return func() metrics.Metrics {
			m := all[0]
			all = all[1:]
			return m
		}
	}
	next := fresh()
	checkAllocs(t, "first json.Marshal of 10 histograms", 2, func() { marshalAny(t, next()) })
	next = fresh()
	checkAllocs(t, "first MarshalJSON of 10 histograms", 1, func() { marshal(next()) })
	next = fresh()
	checkAllocs(t, "first AppendJSON of 10 histograms", 0, func() { appendJSON(next()) })

	m := collectionOf(10, 10, 10, 1)
	marshal(m)
	checkAllocs(t, "json.Marshal of 30 metrics", 2, func() { marshalAny(t, m) })
	checkAllocs(t, "MarshalJSON of 30 metrics", 1, func() { marshal(m) })
	checkAllocs(t, "AppendJSON of 30 metrics", 0, func() { appendJSON(m) })
	update := func() {
		for i := range 10 {
			m.Timer(timerNames[i]).Start()
			m.Timer(timerNames[i]).Stop()
			m.Counter(counterNames[i]).Incr()
			m.Histogram(histogramNames[i]).Update(1000)
		}
	}
	for range 1100 {
		update() // until the reservoirs are full
	}
	marshal(m)
	marshal(m)
	checkAllocs(t, "MarshalJSON of 30 metrics, each updated", 1, func() { update(); marshal(m) })
	checkAllocs(t, "AppendJSON of 30 metrics, each updated", 0, func() { update(); appendJSON(m) })

	var rotation []metrics.Metrics
	for i := range 16 {
		m := collectionOf(0, 30, 30, uint64(i))
		marshal(m)
		marshal(m)
		rotation = append(rotation, m)
	}
	i := 0
	rotate := func() metrics.Metrics {
		i++
		m := rotation[i%len(rotation)]
		m.Counter(counterNames[i%len(counterNames)]).Add(3)
		return m
	}
	checkAllocs(t, "MarshalJSON of 16 collections in rotation", 1, func() { marshal(rotate()) })
	checkAllocs(t, "AppendJSON of 16 collections in rotation", 0, func() { appendJSON(rotate()) })
}

func marshalAny(t *testing.T, m metrics.Metrics) {
	b, err := json.Marshal(m)
	if err != nil {
		t.Error(err)
	}
	sinkBytes = b
}

func TestAllocsOfEach(t *testing.T) {
	m := collectionOf(5, 5, 5, 1)
	sum := int64(0)
	checkAllocs(t, "Each", 0, func() {
		for metric := range metrics.Each(m) {
			sum += metric.Int64() + int64(metric.Uint64()) + int64(len(metric.Name())+len(metric.Key()))
		}
	})
	checkAllocs(t, "Each with the summaries", 0, func() {
		for metric := range metrics.Each(m) {
			sum += metric.Summary().Count
		}
	})
	long := metrics.New() // names that the catalog does not take
	for i := range 20 {
		long.Counter(strings.Repeat("long ", 50) + strconv.Itoa(i))
	}
	checkAllocs(t, "Each with keys that it has made before", 0, func() {
		for metric := range metrics.Each(long) {
			sum += int64(len(metric.Key()))
		}
	})
	if sum == 0 {
		t.Error("Each yields nothing")
	}
}

var timerNames, counterNames, histogramNames = namesOf("timer"), namesOf("counter"), namesOf("histogram")

func namesOf(kind string) []string {
	names := make([]string, 10)
	for i := range names {
		names[i] = fmt.Sprint(kind, i)
	}
	return names
}
