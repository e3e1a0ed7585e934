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
	"math"
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
	// result returns the result of the operation. The sides must agree on it,
	// except on the values of histograms if varies is true.
	result func() any
	varies bool
	// floor is nil if there is none.
	floor floor
}

// A Target limits the figures of a case. A ratio is Regometer's figure divided
// by OPA's of the same run.
type Target struct {
	Goroutines int     // the number that the target is for
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
	rotating("append_opa", "OPA's 30 metrics: AppendJSON", limits(Unlimited, 0, 0),
		rotation{build: opaThirty, marshal: toBuffer}, outputCopy(0)),
	rotating("append_rotated", "30 counters, 30 histograms: one update, AppendJSON", limits(Unlimited, 0, 0),
		rotation{build: rotated, size: rotationSize, warm: 2, rounds: 30 * growth, touch: touchOne, marshal: toBuffer}, outputCopy(1)),
	rotating("append_first", "10 histograms: first AppendJSON", limits(Unlimited, 0, 0),
		rotation{build: histograms, size: 4 * rotationSize, rounds: 1, marshal: toBuffer}, outputCopy(0)),
	rotating("append_updated", "OPA's 30 metrics, updated on and on: AppendJSON after each round", limits(Unlimited, 0, 0),
		rotation{build: opaThirty, aged: 2000, warm: 2, touch: touchAll, marshal: toBuffer}, outputCopy(30)),
	rotating("append_unchanged", "OPA's 30 metrics: unchanged, AppendJSON", limits(Unlimited, 0, 0),
		rotation{build: opaThirty, warm: 1, marshal: toBuffer}, outputCopy(0)),
	shared("timer_restart", "OPA's BenchmarkMetricsTimerStartStopRestart", one, nearFloor(1, 0.48, 1.35), timerRestart, clockReadings(4)),
	made("request", "A request: New, 4 timers, 1 counter", two, limits(0.38, 0.25, 1), each(newRequest), collectionFloor(8, nil)),
	made("request_all", "A request, then All", two, limits(0.40, 0.45, 4), each(requestAll), collectionFloor(8, requestKeys)),
	made("unknown_all", "9 timers and 3 counters of unknown names, then All", one, limits(0.52, 0.5, 7), unknownAll, collectionFloor(18, unknownKeys)),
	made("request_json", "A request, then MarshalJSON", two, limits(0.2, 0.2, 2), each(requestJSON), collectionFloor(8, nil)),
	varying(made("instrumented_all", "A request with 5 instrumented operations × 40, then All", two, limits(0.43, 0.12, 37),
		instrumented("eval_op_plug", "eval_op_resolve", "eval_op_rule_index", "eval_op_builtin_call", "eval_op_virtual_cache_miss"), clockReadings(608))),
	varying(shared("update_full", "Histogram.Update, full reservoir", two, nearFloor(1, 0.27, 1.1), updateFull, clockAndAdd)),
	made("statistics", "Statistics of 1,000 numbers", one, limits(0.06, 0.04, 5), statistics, onePass),
	shared("by_name_counter", "One collection, by name: Counter.Incr", two, nearFloor(2, 0.47, Unlimited),
		counters(metrics.ServerQueryCacheHit, metrics.ServerQueryCacheHit), addOnly),
	shared("by_name_timer", "One collection, by name: Timer.Start and Stop", two, nearFloor(2, 0.4, Unlimited),
		timers(metrics.RegoQueryEval, metrics.RegoQueryEval), clockAndAddTwice),
	varying(shared("by_name_update", "One collection, by name: Histogram.Update", two, nearFloor(2, 0.27, Unlimited),
		updates("eval_op_plug", "eval_op_plug"), clockAndAdd)),
	rotating("scattered_updated", "10 metrics of each kind, 100 to 200 values: each updated once, MarshalJSON", limits(0.05, 0.1, 1),
		rotation{build: thirty, size: rotationSize, warm: 2, rounds: growth, touch: touchAll, marshal: toMarshal}, nil),

	shared("own_counter", "One collection, each its own counter, by name: Incr", two, nil,
		counters(metrics.ServerQueryCacheHit, "eval_op_virtual_cache_hit"), nil),
	shared("own_timer", "One collection, each its own timer, by name: Start and Stop", two, nil,
		timers(metrics.RegoQueryEval, metrics.RegoInputParse), clockReadings(2)),
	varying(shared("own_update", "One collection, each its own histogram, by name: Update", two, nil,
		updates("eval_op_plug", "eval_op_resolve"), clockReadings(1))),
	shared("timer_handle", "Timer.Start and Stop, handle kept", two, nil,
		timerHandles(metrics.RegoQueryEval, metrics.RegoQueryEval), clockAndAddTwice),
	shared("own_timer_handle", "One collection, each its own timer, handle kept: Start and Stop", two, nil,
		timerHandles(metrics.RegoExternalResolve, metrics.RegoQueryEval), nil),
	varying(made("instrumented_own", "A request with 5 instrumented operations of other names × 40, then All", one, nil,
		instrumented("own_op_fetch", "own_op_parse", "own_op_match", "own_op_merge", "own_op_write"), nil)),
	made("new_unread", "New, nothing recorded", one, nil, each(fresh), nil),
	made("first_lookup", "New, 8 timers of new names", one, nil, firstLookup, nil),
	made("fresh_10000", "New, 10,000 counters of new names", one, nil, freshNames, nil),
	shared("clear", "Clear, then look up 4 timers and 1 counter", one, nil, clearAndRefill, nil),
	shared("lookup_100", "Counter.Incr, scattered over 100 names", two, nil, lookup(100), nil),
	shared("lookup_1000", "Counter.Incr, scattered over 1,000 names", two, nil, lookup(1000), nil),
	shared("lookup_10000", "Counter.Incr, scattered over 10,000 names", two, nil, lookup(10_000), nil),
	made("fill", "A histogram's first 1,028 updates", one, nil, each(func() metrics.Metrics { return filled(0) }), nil),
	varying(rotating("update_accepted", "A histogram's next 1,028 updates: most enter the sample", nil,
		rotation{build: filled, size: rotationSize, rounds: 1, touch: touchFilled, marshal: unread}, nil)),
	fullReservoir("full_marshal_1", "Full reservoir: 1 update, MarshalJSON", fullHistogram, touchFull(1), toMarshal),
	fullReservoir("full_marshal_100", "Full reservoir: 100 updates, MarshalJSON", fullHistogram, touchFull(100), toMarshal),
	fullReservoir("full_marshal_2000", "Full reservoir: 2,000 updates, MarshalJSON", fullHistogram, touchFull(2000), toMarshal),
	rotating("scattered_unchanged", "10 metrics of each kind, 100 scattered values: unchanged, MarshalJSON", nil,
		rotation{build: thirty, size: rotationSize, warm: 2, marshal: toMarshal}, nil),
	fullReservoir("full_updated", "10 metrics of each kind, full reservoirs: each updated once, MarshalJSON", fullThirty, touchAll, toMarshal),
	fullReservoir("full_append", "10 metrics of each kind, full reservoirs: each updated once, AppendJSON", fullThirty, touchAll, toBuffer),
	reading("all_histograms", "10 histograms of 100 values: All", histograms, func(m metrics.Metrics) map[string]any { return m.All() }),
	reading("string", "10 metrics of each kind: String", thirty, func(m metrics.Metrics) string { return m.(fmt.Stringer).String() }),
	reading("timers", "10 metrics of each kind: Timers", thirty, func(m metrics.Metrics) any { return m.(metrics.TimerMetrics).Timers() }),
	shared("noop", "NoOp: 2 timers, 1 counter, 1 histogram", one, nil, noOp, nil),
}

// made returns a case that makes a collection in each operation. setup returns
// the operation, which gets its number.
func made[T any](name, title string, goroutines []int, target *Target, setup func() func(i int) T, f floor) Case {
	run := func(b *testing.B, goroutines int) {
		operation := setup()
		Spread(b, goroutines, func(n int) {
			for i := range n {
				operation(i)
			}
		})
	}
	return Case{Name: name, Title: title, Goroutines: goroutines, Target: target, floor: f, run: run,
		result: func() any { return allOf(setup()(3)) }}
}

// shared returns a case whose operations share a collection. setup returns the
// collection, and a loop that does the operation n times.
func shared(name, title string, goroutines []int, target *Target, setup func() (m metrics.Metrics, loop func(n int)), f floor) Case {
	run := func(b *testing.B, goroutines int) {
		_, loop := setup()
		Spread(b, goroutines, loop)
	}
	result := func() any {
		m, loop := setup()
		loop(3)
		return m.All()
	}
	return Case{Name: name, Title: title, Goroutines: goroutines, Target: target, floor: f, run: run, result: result}
}

// rotating returns a case that marshals collections.
func rotating(name, title string, target *Target, r rotation, f floor) Case {
	return Case{Name: name, Title: title, Goroutines: one, Target: target, floor: f, run: r.run, result: r.result}
}

// fullReservoir returns a case with full reservoirs, whose values depend on
// random draws. The updates are timed.
func fullReservoir(name, title string, build func(int) metrics.Metrics, touch toucher, marshal marshaler) Case {
	return varying(rotating(name, title, nil, rotation{build: build, size: rotationSize, warm: 2, touch: touch, marshal: marshal}, nil))
}

// reading returns a case that reads collections without marshalling them.
func reading[T any](name, title string, build func(int) metrics.Metrics, read func(metrics.Metrics) T) Case {
	c := rotating(name, title, nil, rotation{build: build, size: rotationSize, warm: 2, marshal: func(_ []byte, m metrics.Metrics) ([]byte, error) {
		read(m)
		return nil, nil
	}}, nil)
	c.result = func() any { return read(build(0)) }
	return c
}

// varying returns the case of which the values of histograms vary.
func varying(c Case) Case {
	c.varies = true
	return c
}
