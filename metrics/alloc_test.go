// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/regometer/regometer/metrics"
)

// The sinks keep the compiler from optimizing calls away.
var (
	sinkMetrics metrics.Metrics
	sinkBytes   []byte
	sinkNumber  int64
)

const allocRuns = 200

// budget is the most allocations that a call may make.
type budget struct {
	name  string
	most  float64
	calls func()
}

func checkAllocs(t *testing.T, budgets []budget) {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for _, b := range budgets {
		if got := testing.AllocsPerRun(allocRuns, b.calls); got > b.most {
			t.Errorf("%s: %v allocations, want at most %v", b.name, got, b.most)
		}
	}
}

// record records the metrics of one decision of OPA's server.
func record() metrics.Metrics {
	m := metrics.New()
	m.Timer(metrics.ServerHandler).Start()
	for _, name := range []string{metrics.RegoInputParse, metrics.RegoQueryParse, metrics.RegoQueryEval} {
		m.Timer(name).Start()
		m.Timer(name).Stop()
	}
	m.Counter(metrics.ServerQueryCacheHit).Incr()
	m.Timer(metrics.ServerHandler).Stop()
	return m
}

// namesOf returns n names that are made at run time.
func namesOf(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(prefix, i)
	}
	return names
}

var timerNames, counterNames, histogramNames = namesOf("timer", 30), namesOf("counter", 30), namesOf("histogram", 30)

// collectionOf returns a collection of timers, counters and histograms of 100
// scattered values.
func collectionOf(timers, counters, histograms int) metrics.Metrics {
	m := metrics.New()
	for _, name := range timerNames[:timers] {
		m.Timer(name).Start()
		m.Timer(name).Stop()
	}
	for _, name := range counterNames[:counters] {
		m.Counter(name).Add(rand.Uint64N(1e6) + 256)
	}
	for _, name := range histogramNames[:histograms] {
		for range 100 {
			m.Histogram(name).Update(rand.Int64N(1e9))
		}
	}
	return m
}

// TestAllocs checks the allocations of all calls except those that return
// values in a map. TestAllocsOfValues checks these.
func TestAllocs(t *testing.T) {
	m := collectionOf(4, 4, 4)
	timer, counter, histogram := m.Timer("timer1"), m.Counter("counter1"), m.Histogram("histogram1")
	for range 3000 {
		histogram.Update(1000)
	}
	long := metrics.New() // with names that do not enter the catalog
	for _, name := range namesOf(strings.Repeat("long ", 50), 20) {
		long.Counter(name)
	}
	checkAllocs(t, []budget{
		{"New", 1, func() { sinkMetrics = metrics.New() }},
		{"a request", 1, func() { sinkMetrics = record() }},
		{"Start and Stop", 0, func() { timer.Start(); timer.Stop() }},
		{"Start and Stop by name", 0, func() { m.Timer("timer2").Start(); m.Timer("timer2").Stop() }},
		{"Int64", 0, func() { timer.Int64() }},
		{"Incr and Add", 0, func() { counter.Incr(); counter.Add(1000) }},
		{"Incr by name", 0, func() { m.Counter("counter2").Incr() }},
		{"100 times Update of a full reservoir", 0, func() {
			for range 100 {
				histogram.Update(rand.Int64N(1e6))
			}
		}},
		{"Update by name of a full reservoir", 0, func() { m.Histogram("histogram1").Update(1000) }},
		{"Each", 0, func() {
			for metric := range metrics.Each(m) {
				sinkNumber += metric.Int64() + int64(metric.Uint64()) + int64(len(metric.Name())+len(metric.Key())) + metric.Summary().Count
			}
		}},
		{"Each with keys that it has made before", 0, func() {
			for metric := range metrics.Each(long) {
				sinkNumber += int64(len(metric.Key()))
			}
		}},
	})
}

func TestAllocsOfJSON(t *testing.T) {
	check := func(b []byte, err error) {
		if err != nil {
			t.Error(err)
		}
		sinkBytes = b
	}
	buffer := make([]byte, 0, 1<<20)
	marshal := func(m metrics.Metrics) { check(m.MarshalJSON()) }
	appendJSON := func(m metrics.Metrics) { check(metrics.AppendJSON(buffer[:0], m)) }

	// fresh returns another new collection at each call.
	all := make([]metrics.Metrics, 3*(allocRuns+1)) // AllocsPerRun makes a run that it does not count
	for i := range all {
		all[i] = collectionOf(0, 0, 10)
	}
	fresh := func() metrics.Metrics {
		m := all[0]
		all = all[1:]
		return m
	}
	unchanged, updated := collectionOf(10, 10, 10), collectionOf(10, 10, 10)
	marshal(unchanged)
	update := func() metrics.Metrics {
		for i := range 10 {
			updated.Timer(timerNames[i]).Start()
			updated.Timer(timerNames[i]).Stop()
			updated.Counter(counterNames[i]).Incr()
			updated.Histogram(histogramNames[i]).Update(1000)
		}
		return updated
	}
	for range 1100 { // until the reservoirs are full
		update()
	}
	marshal(updated)
	marshal(updated)
	checkAllocs(t, []budget{
		{"a request, then MarshalJSON", 2, func() { marshal(record()) }},
		{"a request, then AppendJSON", 1, func() { appendJSON(record()) }},
		{"first json.Marshal of 10 histograms", 2, func() { check(json.Marshal(fresh())) }},
		{"first MarshalJSON of 10 histograms", 1, func() { marshal(fresh()) }},
		{"first AppendJSON of 10 histograms", 0, func() { appendJSON(fresh()) }},
		{"json.Marshal of 30 metrics", 2, func() { check(json.Marshal(unchanged)) }},
		{"MarshalJSON of 30 metrics", 1, func() { marshal(unchanged) }},
		{"AppendJSON of 30 metrics", 0, func() { appendJSON(unchanged) }},
		{"MarshalJSON of 30 metrics, each updated", 1, func() { marshal(update()) }},
		{"AppendJSON of 30 metrics, each updated", 0, func() { appendJSON(update()) }},
	})
}
