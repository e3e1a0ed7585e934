// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench measures Regometer beside Open Policy Agent's own metrics
// package. It imports OPA's package alone. Command benchtable builds it twice:
// with OPA as it is, and, with the tag dropin, with a copy of OPA whose package
// is the drop-in. So both sides run the same text, and call methods in the same
// way.
//
// The benchmarks are named case=…/goroutines=…/impl=…, so that benchstat -col
// /impl compares the two sides. impl=floor is the least that any implementation
// of the case has to do on the machine.
package bench

import (
	"fmt"
	"testing"

	"github.com/open-policy-agent/opa/v1/metrics"
)

// A Case is an operation of a metrics package.
type Case struct {
	Name       string  // of the benchmark: case=Name
	Title      string  // for people
	Goroutines []int   // the numbers of goroutines it is measured with
	Target     *Target // nil if there is none

	// run measures the operation.
	run func(b *testing.B, goroutines int)
	// result returns what the operation returns. The sides must agree on it.
	result func() any
	// floor measures the least that the operation can take, if not nil.
	floor floor
}

// A Target is what a case must reach. Ratios are Regometer's figure divided by
// OPA's of the same run.
type Target struct {
	Goroutines int     // the target holds for this number
	Time       float64 // highest ratio of time, 0 for none
	Bytes      float64 // highest ratio of allocated bytes, negative for none
	Allocs     int     // most allocations
	Floor      float64 // highest ratio of time to the floor's, 0 for none
}

var (
	one = []int{1}
	two = []int{1, 2}
)

// limits returns a target for one goroutine.
func limits(time, bytes float64, allocs int) *Target {
	return &Target{Goroutines: 1, Time: time, Bytes: bytes, Allocs: allocs}
}

// nearFloor returns a target for an operation that allocates nothing.
func nearFloor(goroutines int, time, floor float64) *Target {
	return &Target{Goroutines: goroutines, Time: time, Floor: floor, Bytes: -1}
}

// Cases are measured and shown in this order.
var Cases = []Case{
	rotating("marshal_opa", "OPA's BenchmarkMetricsMarshaling: json.Marshal", limits(0.25, 0.2, 2),
		rotation{build: opaThirty, marshal: byEncodingJSON}, jsonPass),
	rotating("marshal_rotated", "30 counters, 30 histograms of 100 values: one update, MarshalJSON", limits(0.03, 0.12, 1),
		rotation{build: rotated, size: rotationSize, warm: 2, rounds: 30 * growth, touch: touchOne, marshal: toMarshal}, outputClone(1)),
	rotating("marshal_first", "10 histograms of 100 values: first MarshalJSON", limits(0.3, 0.12, 2),
		rotation{build: histograms, size: 4 * rotationSize, rounds: 1, marshal: toMarshal}, outputClone(0)),
	rotating("marshal_updated", "OPA's 30 metrics, updated on and on: MarshalJSON after each round", limits(0.05, 0.1, 1),
		rotation{build: opaThirty, aged: 2000, warm: 2, touch: touchAll, marshal: toMarshal}, outputClone(30)),
	rotating("marshal_unchanged", "OPA's 30 metrics: unchanged, MarshalJSON", limits(0.015, 0.1, 1),
		rotation{build: opaThirty, warm: 1, marshal: toMarshal}, outputClone(0)),
	rotating("append_opa", "OPA's 30 metrics: AppendJSON", limits(0, 0, 0),
		rotation{build: opaThirty, marshal: toBuffer}, outputCopy(0)),
	rotating("append_rotated", "30 counters, 30 histograms: one update, AppendJSON", limits(0, 0, 0),
		rotation{build: rotated, size: rotationSize, warm: 2, rounds: 30 * growth, touch: touchOne, marshal: toBuffer}, outputCopy(1)),
	rotating("append_first", "10 histograms: first AppendJSON", limits(0, 0, 0),
		rotation{build: histograms, size: 4 * rotationSize, rounds: 1, marshal: toBuffer}, outputCopy(0)),
	rotating("append_updated", "OPA's 30 metrics, updated on and on: AppendJSON after each round", limits(0, 0, 0),
		rotation{build: opaThirty, aged: 2000, warm: 2, touch: touchAll, marshal: toBuffer}, outputCopy(30)),
	rotating("append_unchanged", "OPA's 30 metrics: unchanged, AppendJSON", limits(0, 0, 0),
		rotation{build: opaThirty, warm: 1, marshal: toBuffer}, outputCopy(0)),
	{"timer_restart", "OPA's BenchmarkMetricsTimerStartStopRestart", one, nearFloor(1, 0.48, 1.35),
		timerRestart, timerResult, clockReadings(4)},
	{"request", "A request: New, 4 timers, 1 counter", two, limits(0.38, 0.25, 1),
		spread(request), allOf(newRequest), collectionFloor(8, nil)},
	{"request_all", "A request, then All", two, limits(0.40, 0.45, 4),
		spread(requestAll), allOf(newRequest), collectionFloor(8, requestKeys)},
	{"unknown_all", "9 timers and 3 counters of unknown names, then All", one, limits(0.52, 0.5, 7),
		unknownAll, allOf(func() metrics.Metrics { return unknownNames(Names("unknown_name_%d", 12)) }), collectionFloor(18, unknownKeys)},
	{"request_json", "A request, then MarshalJSON", two, limits(0.2, 0.2, 2),
		spread(requestJSON), func() any { return must(newRequest().MarshalJSON()) }, requestJSONFloor},
	{"instrumented_all", "A request with 5 instrumented operations × 40, then All", two, limits(0.43, 0.12, 37),
		spread(instrumentedAll), allOf(instrumented), clockReadings(608)},
	{"update_full", "Histogram.Update, full reservoir", two, nearFloor(1, 0.27, 1.1),
		spread(updateFull), countsAfter(1), clockAndAdd},
	{"statistics", "Statistics of 1,000 numbers", one, limits(0.06, 0.04, 5),
		statistics, func() any { return metrics.Statistics(Values(1, 1000)...) }, onePass},
	{"by_name_counter", "One collection, by name: Counter.Incr", two, nearFloor(2, 0.47, 0),
		spread(byNameCounter), byNameResult, addOnly},
	{"by_name_timer", "One collection, by name: Timer.Start and Stop", two, nearFloor(2, 0.4, 0),
		spread(byNameTimer), byNameResult, clockAndAddTwice},
	{"by_name_update", "One collection, by name: Histogram.Update", two, nearFloor(2, 0.27, 0),
		spread(byNameUpdate), countsAfter(1), clockAndAdd},
	rotating("scattered_updated", "10 metrics of each kind, 100 to 200 values: each updated once, MarshalJSON", limits(0.05, 0.1, 1),
		rotation{build: thirty, size: rotationSize, warm: 2, rounds: growth, touch: touchAll, marshal: toMarshal}, nil),

	{"own_counter", "One collection, each its own counter, by name: Incr", two, nil,
		spread(ownCounter), byNameResult, nil},
	{"own_timer", "One collection, each its own timer, by name: Start and Stop", two, nil,
		spread(ownTimer), byNameResult, clockReadings(2)},
	{"own_update", "One collection, each its own histogram, by name: Update", two, nil,
		spread(ownUpdate), countsAfter(1), clockReadings(1)},
	{"timer_handle", "Timer.Start and Stop, handle kept", two, nil,
		spread(timerHandle), timerResult, clockAndAddTwice},
	{"own_timer_handle", "One collection, each its own timer, handle kept: Start and Stop", two, nil,
		spread(ownTimerHandle), timerResult, nil},
	{"instrumented_own", "A request with 5 instrumented operations of other names × 40, then All", one, nil,
		instrumentedOwn, allOf(func() metrics.Metrics { return instrumentedWith(ownOperations[:]) }), nil},
	{"new_unread", "New, nothing recorded", one, nil,
		newUnread, allOf(fresh), nil},
	{"first_lookup", "New, 8 timers of new names", one, nil,
		firstLookup, allOf(func() metrics.Metrics { return withTimers(Names("first_lookup_%d", 8)) }), nil},
	{"fresh_10000", "New, 10,000 counters of new names", one, nil,
		freshNames, lookupResult(10_000), nil},
	{"clear", "Clear, then look up 4 timers and 1 counter", one, nil,
		clearAndRefill, clearResult, nil},
	{"lookup_100", "Counter.Incr, scattered over 100 names", two, nil,
		spread(lookup(100)), lookupResult(100), nil},
	{"lookup_1000", "Counter.Incr, scattered over 1,000 names", two, nil,
		spread(lookup(1000)), lookupResult(1000), nil},
	{"lookup_10000", "Counter.Incr, scattered over 10,000 names", two, nil,
		spread(lookup(10_000)), lookupResult(10_000), nil},
	{"fill", "A histogram's first 1,028 updates", one, nil,
		fill, fillResult, nil},
	{"update_accepted", "A histogram's next 1,028 updates: most enter the sample", one, nil,
		updateAccepted, countsAfter(1), nil},
	fullMarshal("full_marshal_1", "Full reservoir: 1 update, MarshalJSON", 1),
	fullMarshal("full_marshal_100", "Full reservoir: 100 updates, MarshalJSON", 100),
	fullMarshal("full_marshal_2000", "Full reservoir: 2,000 updates, MarshalJSON", 2000),
	rotating("scattered_unchanged", "10 metrics of each kind, 100 scattered values: unchanged, MarshalJSON", nil,
		rotation{build: thirty, size: rotationSize, warm: 2, marshal: toMarshal}, nil),
	fullUpdated("full_updated", "10 metrics of each kind, full reservoirs: each updated once, MarshalJSON", toMarshal),
	fullUpdated("full_append", "10 metrics of each kind, full reservoirs: each updated once, AppendJSON", toBuffer),
	{"all_histograms", "10 histograms of 100 values: All", one, nil,
		allHistograms, allOf(func() metrics.Metrics { return histograms(0) }), nil},
	{"string", "10 metrics of each kind: String", one, nil,
		toString, func() any { return fmt.Sprint(thirty(0)) }, nil},
	{"timers", "10 metrics of each kind: Timers", one, nil,
		timers, func() any { return thirty(0).(metrics.TimerMetrics).Timers() }, nil},
	{"noop", "NoOp: 2 timers, 1 counter, 1 histogram", one, nil,
		noOp, noOpResult, nil},
}

// rotating returns a case that marshals collections.
func rotating(name, title string, target *Target, r rotation, f floor) Case {
	return Case{name, title, one, target, r.run, r.result, f}
}

// fullMarshal returns a case that marshals a full reservoir after some updates,
// which are timed.
func fullMarshal(name, title string, updates int) Case {
	c := rotating(name, title, nil, rotation{build: fullHistogram, size: rotationSize, warm: 2, touch: touchFull(updates), marshal: toMarshal}, nil)
	c.result = countsAfter(updates)
	return c
}

// fullUpdated returns a case with full reservoirs, whose values depend on
// random draws.
func fullUpdated(name, title string, marshal marshaler) Case {
	c := rotating(name, title, nil, rotation{build: fullThirty, size: rotationSize, warm: 2, touch: touchAll, marshal: marshal}, nil)
	c.result = fullUpdatedResult(marshal)
	return c
}
