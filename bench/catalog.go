// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench measures Regometer beside Open Policy Agent's own metrics
// package. It imports only OPA's package. Command benchtable builds it twice:
// with OPA as it is, and, with the tag dropin, with a copy of OPA whose package
// is the drop-in. So both sides run the same source, and call methods in the
// same way.
//
// The benchmarks are named case=…/goroutines=…/impl=…, so that benchstat -col
// /impl compares the two sides. impl=floor is the least that any implementation
// of the case has to do on the machine.
package bench

import "math"

// A Case describes an operation of a metrics package. cases_test.go has its
// code.
type Case struct {
	Name       string  // of the benchmark: case=Name
	Title      string  // for people
	Goroutines []int   // the numbers of goroutines to measure it with
	Target     *Target // nil if there is none
}

// A Target limits the figures of a case. A ratio is Regometer's figure divided
// by OPA's of the same run.
type Target struct {
	Goroutines int     // the number of goroutines that the target is for
	Time       float64 // highest ratio of time
	Floor      float64 // highest ratio of time to the floor's
	Bytes      float64 // highest ratio of allocated bytes
	Allocs     float64 // most allocations
}

// Unlimited stands for no limit.
const Unlimited = math.MaxFloat64

var (
	one = []int{1}
	two = []int{1, 2}
)

// limits returns a target for one goroutine.
func limits(time, bytes, allocs float64) *Target {
	return &Target{Goroutines: 1, Time: time, Floor: Unlimited, Bytes: bytes, Allocs: allocs}
}

// nearFloor returns a target for an operation that allocates nothing.
func nearFloor(goroutines int, time, floor float64) *Target {
	return &Target{Goroutines: goroutines, Time: time, Floor: floor, Bytes: Unlimited}
}

// Cases are measured and shown in this order.
var Cases = []Case{
	{"marshal_opa", "OPA's BenchmarkMetricsMarshaling: json.Marshal", one, limits(0.25, 0.2, 2)},
	{"marshal_rotated", "30 counters, 30 histograms of 100 values: one update, MarshalJSON", one, limits(0.03, 0.12, 1)},
	{"marshal_first", "10 histograms of 100 values: first MarshalJSON", one, limits(0.3, 0.12, 2)},
	{"marshal_updated", "OPA's 30 metrics, updated on and on: MarshalJSON after each round", one, limits(0.05, 0.1, 1)},
	{"marshal_unchanged", "OPA's 30 metrics: unchanged, MarshalJSON", one, limits(0.015, 0.1, 1)},
	{"append_opa", "OPA's 30 metrics: AppendJSON", one, limits(Unlimited, 0, 0)},
	{"append_rotated", "30 counters, 30 histograms: one update, AppendJSON", one, limits(Unlimited, 0, 0)},
	{"append_first", "10 histograms: first AppendJSON", one, limits(Unlimited, 0, 0)},
	{"append_updated", "OPA's 30 metrics, updated on and on: AppendJSON after each round", one, limits(Unlimited, 0, 0)},
	{"append_unchanged", "OPA's 30 metrics: unchanged, AppendJSON", one, limits(Unlimited, 0, 0)},
	{"timer_restart", "OPA's BenchmarkMetricsTimerStartStopRestart", one, nearFloor(1, 0.48, 1.35)},
	{"request", "A request: New, 4 timers, 1 counter", two, limits(0.38, 0.25, 1)},
	{"request_all", "A request, then All", two, limits(0.40, 0.45, 4)},
	{"unknown_all", "9 timers and 3 counters of unknown names, then All", one, limits(0.52, 0.5, 7)},
	{"request_json", "A request, then MarshalJSON", two, limits(0.2, 0.2, 2)},
	{"instrumented_all", "A request with 5 instrumented operations × 40, then All", two, limits(0.43, 0.12, 37)},
	{"update_full", "Histogram.Update, full reservoir", two, nearFloor(1, 0.27, 1.1)},
	{"statistics", "Statistics of 1,000 numbers", one, limits(0.06, 0.04, 5)},
	{"by_name_counter", "One collection, by name: Counter.Incr", two, nearFloor(2, 0.47, Unlimited)},
	{"by_name_timer", "One collection, by name: Timer.Start and Stop", two, nearFloor(2, 0.4, Unlimited)},
	{"by_name_update", "One collection, by name: Histogram.Update", two, nearFloor(2, 0.27, Unlimited)},
	{"scattered_updated", "10 metrics of each kind, 100 to 200 values: each updated once, MarshalJSON", one, limits(0.05, 0.1, 1)},

	{"own_counter", "One collection, each its own counter, by name: Incr", two, nil},
	{"own_timer", "One collection, each its own timer, by name: Start and Stop", two, nil},
	{"own_update", "One collection, each its own histogram, by name: Update", two, nil},
	{"timer_handle", "Timer.Start and Stop, handle kept", two, nil},
	{"own_timer_handle", "One collection, each its own timer, handle kept: Start and Stop", two, nil},
	{"instrumented_own", "A request with 5 instrumented operations of other names × 40, then All", one, nil},
	{"new_unread", "New, nothing recorded", one, nil},
	{"first_lookup", "New, 8 timers of new names", one, nil},
	{"fresh_10000", "New, 10,000 counters of new names", one, nil},
	{"clear", "Clear, then look up 4 timers and 1 counter", one, nil},
	{"lookup_100", "Counter.Incr, scattered over 100 names", two, nil},
	{"lookup_1000", "Counter.Incr, scattered over 1,000 names", two, nil},
	{"lookup_10000", "Counter.Incr, scattered over 10,000 names", two, nil},
	{"fill", "A histogram's first 1,028 updates", one, nil},
	{"update_accepted", "A histogram's next 1,028 updates: most enter the sample", one, nil},
	{"full_marshal_1", "Full reservoir: 1 update, MarshalJSON", one, nil},
	{"full_marshal_100", "Full reservoir: 100 updates, MarshalJSON", one, nil},
	{"full_marshal_2000", "Full reservoir: 2,000 updates, MarshalJSON", one, nil},
	{"scattered_unchanged", "10 metrics of each kind, 100 scattered values: unchanged, MarshalJSON", one, nil},
	{"full_updated", "10 metrics of each kind, full reservoirs: each updated once, MarshalJSON", one, nil},
	{"full_append", "10 metrics of each kind, full reservoirs: each updated once, AppendJSON", one, nil},
	{"all_histograms", "10 histograms of 100 values: All", one, nil},
	{"string", "10 metrics of each kind: String", one, nil},
	{"timers", "10 metrics of each kind: Timers", one, nil},
	{"noop", "NoOp: 2 timers, 1 counter, 1 histogram", one, nil},
}
