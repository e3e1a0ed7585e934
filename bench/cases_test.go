// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/metrics"
)

// An operation is the code of a case.
type operation struct {
	// run measures the operation.
	run func(b *testing.B, goroutines int)
	// result returns the result of the operation, which must be the same on
	// both sides. If varies is true, the values of histograms may differ.
	result func() any
	varies bool
	floor  floor // nil if there is none
}

// operations has the code of Cases, by name.
var operations = map[string]operation{
	"marshal_opa":       rotating(rotation{build: opaThirty, marshal: byEncodingJSON}, jsonPass),
	"marshal_rotated":   rotating(rotation{build: rotated, size: rotationSize, warm: 2, rounds: 30 * growth, touch: touchOne, marshal: toMarshal}, outputClone(1)),
	"marshal_first":     rotating(rotation{build: histograms, size: 4 * rotationSize, rounds: 1, marshal: toMarshal}, outputClone(0)),
	"marshal_updated":   rotating(rotation{build: opaThirty, aged: 2000, warm: 2, touch: touchAll, marshal: toMarshal}, outputClone(30)),
	"marshal_unchanged": rotating(rotation{build: opaThirty, warm: 1, marshal: toMarshal}, outputClone(0)),
	"append_opa":        rotating(rotation{build: opaThirty, marshal: toBuffer}, outputCopy(0)),
	"append_rotated":    rotating(rotation{build: rotated, size: rotationSize, warm: 2, rounds: 30 * growth, touch: touchOne, marshal: toBuffer}, outputCopy(1)),
	"append_first":      rotating(rotation{build: histograms, size: 4 * rotationSize, rounds: 1, marshal: toBuffer}, outputCopy(0)),
	"append_updated":    rotating(rotation{build: opaThirty, aged: 2000, warm: 2, touch: touchAll, marshal: toBuffer}, outputCopy(30)),
	"append_unchanged":  rotating(rotation{build: opaThirty, warm: 1, marshal: toBuffer}, outputCopy(0)),
	"timer_restart":     shared(timerRestart, clockReadings(4)),
	"request":           made(each(newRequest), collectionFloor(8, nil)),
	"request_all":       made(each(requestAll), collectionFloor(8, requestKeys)),
	"unknown_all":       made(unknownAll, collectionFloor(18, unknownKeys)),
	"request_json":      made(each(requestJSON), collectionFloor(8, nil)),
	"instrumented_all":  varying(made(instrumented("eval_op_plug", "eval_op_resolve", "eval_op_rule_index", "eval_op_builtin_call", "eval_op_virtual_cache_miss"), clockReadings(608))),
	"update_full":       varying(shared(updateFull, clockAndAdd)),
	"statistics":        made(statistics, onePass),
	"by_name_counter":   shared(counters(metrics.ServerQueryCacheHit, metrics.ServerQueryCacheHit), addOnly),
	"by_name_timer":     shared(timers(metrics.RegoQueryEval, metrics.RegoQueryEval), clockAndAddTwice),
	"by_name_update":    varying(shared(updates("eval_op_plug", "eval_op_plug"), clockAndAdd)),
	"scattered_updated": rotating(rotation{build: thirty, size: rotationSize, warm: 2, rounds: growth, touch: touchAll, marshal: toMarshal}, nil),

	"own_counter":         shared(counters(metrics.ServerQueryCacheHit, "eval_op_virtual_cache_hit"), nil),
	"own_timer":           shared(timers(metrics.RegoQueryEval, metrics.RegoInputParse), clockReadings(2)),
	"own_update":          varying(shared(updates("eval_op_plug", "eval_op_resolve"), clockReadings(1))),
	"timer_handle":        shared(timerHandles(metrics.RegoQueryEval, metrics.RegoQueryEval), clockAndAddTwice),
	"own_timer_handle":    shared(timerHandles(metrics.RegoExternalResolve, metrics.RegoQueryEval), nil),
	"instrumented_own":    varying(made(instrumented("own_op_fetch", "own_op_parse", "own_op_match", "own_op_merge", "own_op_write"), nil)),
	"new_unread":          made(each(fresh), nil),
	"first_lookup":        made(firstLookup, nil),
	"fresh_10000":         made(freshNames, nil),
	"clear":               shared(clearAndRefill, nil),
	"lookup_100":          shared(lookup(100), nil),
	"lookup_1000":         shared(lookup(1000), nil),
	"lookup_10000":        shared(lookup(10_000), nil),
	"fill":                made(each(func() metrics.Metrics { return filled(0) }), nil),
	"update_accepted":     varying(rotating(rotation{build: filled, size: rotationSize, rounds: 1, touch: touchFilled, marshal: unread}, nil)),
	"full_marshal_1":      fullReservoir(fullHistogram, touchFull(1), toMarshal),
	"full_marshal_100":    fullReservoir(fullHistogram, touchFull(100), toMarshal),
	"full_marshal_2000":   fullReservoir(fullHistogram, touchFull(2000), toMarshal),
	"scattered_unchanged": rotating(rotation{build: thirty, size: rotationSize, warm: 2, marshal: toMarshal}, nil),
	"full_updated":        fullReservoir(fullThirty, touchAll, toMarshal),
	"full_append":         fullReservoir(fullThirty, touchAll, toBuffer),
	"all_histograms":      reading(histograms, func(m metrics.Metrics) map[string]any { return m.All() }),
	"string":              reading(thirty, func(m metrics.Metrics) string { return m.(fmt.Stringer).String() }),
	"timers":              reading(thirty, func(m metrics.Metrics) any { return m.(metrics.TimerMetrics).Timers() }),
	"noop":                shared(noOp, nil),
}

// made returns the code of a case that makes a collection in each operation.
// setup returns the operation, which gets its number.
func made[T any](setup func() func(i int) T, f floor) operation {
	run := func(b *testing.B, goroutines int) {
		operation := setup()
		Spread(b, goroutines, func(n int) {
			for i := range n {
				operation(i)
			}
		})
	}
	return operation{run: run, result: func() any { return allOf(setup()(3)) }, floor: f}
}

// shared returns the code of a case whose operations share a collection. setup
// returns the collection, and a loop that does the operation n times.
func shared(setup func() (m metrics.Metrics, loop func(n int)), f floor) operation {
	run := func(b *testing.B, goroutines int) {
		_, loop := setup()
		Spread(b, goroutines, loop)
	}
	result := func() any {
		m, loop := setup()
		loop(3)
		return m.All()
	}
	return operation{run: run, result: result, floor: f}
}

// rotating returns the code of a case that marshals collections.
func rotating(r rotation, f floor) operation {
	return operation{run: r.run, result: r.result, floor: f}
}

// fullReservoir returns the code of a case with full reservoirs, whose values
// depend on random draws. The updates are timed.
func fullReservoir(build func(int) metrics.Metrics, touch toucher, marshal marshaler) operation {
	return varying(rotating(rotation{build: build, size: rotationSize, warm: 2, touch: touch, marshal: marshal}, nil))
}

// reading returns the code of a case that reads collections without marshalling
// them.
func reading[T any](build func(int) metrics.Metrics, read func(metrics.Metrics) T) operation {
	c := rotating(rotation{build: build, size: rotationSize, warm: 2, marshal: func(_ []byte, m metrics.Metrics) ([]byte, error) {
		read(m)
		return nil, nil
	}}, nil)
	c.result = func() any { return read(build(0)) }
	return c
}

// varying returns the code of a case whose histograms have values that vary.
func varying(c operation) operation {
	c.varies = true
	return c
}

// fresh returns a collection as real programs get one, from a function
// argument. The compiler can neither keep it on the stack nor call its methods
// directly.
//
//go:noinline
func fresh() metrics.Metrics { return metrics.New() }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// allOf returns the content of a collection, and other results as they are.
func allOf(result any) any {
	if m, ok := result.(metrics.Metrics); ok {
		return m.All()
	}
	return result
}

// each returns the setup of an operation that is the same each time.
func each[T any](operation func() T) func() func(int) T {
	return func() func(int) T { return func(int) T { return operation() } }
}

// opaThirty returns the collection of OPA's BenchmarkMetricsMarshaling: ten
// metrics of each kind, and a hundred small neighbouring values in each
// histogram.
func opaThirty(int) metrics.Metrics {
	m := fresh()
	for i := range 10 {
		m.Timer(fmt.Sprintf("rego_timer_example_%d", i)).Start()
	}
	time.Sleep(1 * time.Millisecond)
	for i := range 10 {
		m.Timer(fmt.Sprintf("rego_timer_example_%d", i)).Stop()
	}
	for i := range 10 {
		m.Counter(fmt.Sprintf("rego_counter_example_%d", i)).Add(uint64(i))
	}
	for i := range 10 {
		for j := range 100 {
			m.Histogram(fmt.Sprintf("rego_histogram_example_%d", i)).Update(int64(i + j))
		}
	}
	return m
}

var (
	// thirty has the same shape with scattered values above 255.
	thirty = collection(10, 10, 10, 100)
	// fullThirty has more values than its reservoirs.
	fullThirty = collection(10, 10, 10, 20_000)
	rotated    = collection(0, 30, 30, 100)
	histograms = collection(0, 0, 10, 100)
)

// collection returns a function that makes a collection with these numbers of
// metrics, and of scattered values in each histogram.
func collection(timers, counters, histograms, values int) func(seed int) metrics.Metrics {
	return func(seed int) metrics.Metrics {
		m := fresh()
		for _, name := range Names("rego_timer_example_%d", timers) {
			m.Timer(name).Start()
			m.Timer(name).Stop()
		}
		for i, name := range Names("rego_counter_example_%d", counters) {
			m.Counter(name).Add(uint64(1000 + i))
		}
		for i, name := range Names("rego_histogram_example_%d", histograms) {
			h := m.Histogram(name)
			scattered := Values(uint64(100*seed+i), min(values, 1024))
			for j := range values {
				h.Update(scattered[j%len(scattered)])
			}
		}
		return m
	}
}

// thirtyNames returns the names of ten timers, ten counters and thirty
// histograms. The strings are new: the metrics were made with others.
func thirtyNames() []string {
	return slices.Concat(Names("rego_timer_example_%d", 10), Names("rego_counter_example_%d", 10), Names("rego_histogram_example_%d", 30))
}

// A marshaler writes a collection as JSON, into buf's memory if it can.
type marshaler func(buf []byte, m metrics.Metrics) ([]byte, error)

func toMarshal(_ []byte, m metrics.Metrics) ([]byte, error) { return m.MarshalJSON() }

func toBuffer(buf []byte, m metrics.Metrics) ([]byte, error) { return appendJSON(buf[:0], m) }

func byEncodingJSON(_ []byte, m metrics.Metrics) ([]byte, error) { return json.Marshal(m) }

// unread is for cases that measure only updates.
func unread([]byte, metrics.Metrics) ([]byte, error) { return nil, nil }

// A toucher updates metrics of a collection with the value v, in round i.
type toucher func(m metrics.Metrics, names []string, i int, v int64)

// touchOne updates the i-th of thirty histograms.
func touchOne(m metrics.Metrics, names []string, i int, v int64) {
	m.Histogram(names[20+i%30]).Update(v)
}

// touchAll updates ten metrics of each kind.
func touchAll(m metrics.Metrics, names []string, _ int, v int64) {
	for _, name := range names[:10] {
		m.Timer(name).Start()
		m.Timer(name).Stop()
	}
	for _, name := range names[10:20] {
		m.Counter(name).Incr()
	}
	for _, name := range names[20:30] {
		m.Histogram(name).Update(v)
	}
}

// touchFull updates the histogram of fullHistogram.
func touchFull(updates int) toucher {
	values := Values(3, 4096)
	return func(m metrics.Metrics, _ []string, i int, _ int64) {
		h := m.Histogram("eval_op_plug")
		for j := range updates {
			h.Update(values[(i+j)&4095])
		}
	}
}

// filled has a histogram whose reservoir has just become full.
func filled(int) metrics.Metrics {
	m := fresh()
	touchFilled(m, nil, 0, 0)
	return m
}

// touchFilled fills the reservoir again. Two values in three enter. With a slow
// stream of values nearly all do.
func touchFilled(m metrics.Metrics, _ []string, _ int, _ int64) {
	h := m.Histogram("fill")
	for _, v := range reservoirValues {
		h.Update(v)
	}
}

var reservoirValues = Values(1, reservoirSize)

// A rotation is a benchmark that takes collections in turns, touches each and
// marshals it.
type rotation struct {
	build   func(seed int) metrics.Metrics
	size    int     // the number of collections, a power of two; 0 is 1
	aged    int     // touches of each collection before the measurement
	warm    int     // outputs of each before it, after which an implementation has what it keeps
	rounds  int     // turns of each collection before all are built again; 0 is never
	touch   toucher // nil if there is none
	marshal marshaler
}

// collections makes the collections, which is not timed.
func (r rotation) collections(names []string, values []int64) []metrics.Metrics {
	ms := make([]metrics.Metrics, max(1, r.size))
	for i := range ms {
		ms[i] = r.build(i)
		for j := range r.aged {
			r.touch(ms[i], names, j, values[j%len(values)])
		}
		for range r.warm {
			must(ms[i].MarshalJSON())
		}
	}
	collectGarbage()
	return ms
}

// collectGarbage keeps earlier garbage out of the timed region. It also empties
// the pools of either side, and fills them again, as they are in a program that
// has been running.
func collectGarbage() {
	runtime.GC()
	must(json.Marshal(histograms(1000)))
}

func (r rotation) run(b *testing.B, _ int) {
	b.ReportAllocs()
	names, values := thirtyNames(), Values(1, 1024)
	buf := make([]byte, 0, 1<<16)
	ms := r.collections(names, values)
	i, rebuild := 0, r.rounds*len(ms)
	for b.Loop() {
		if rebuild > 0 && i == rebuild {
			b.StopTimer()
			ms = r.collections(names, values)
			i = 0
			b.StartTimer()
		}
		m := ms[i&(len(ms)-1)]
		if r.touch != nil {
			r.touch(m, names, i/len(ms), values[i&1023])
		}
		if _, err := r.marshal(buf, m); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func (r rotation) result() any {
	m := r.build(3)
	if r.warm > 0 {
		must(m.MarshalJSON()) // text that is kept from an earlier output must be right too
	}
	if r.touch != nil {
		r.touch(m, thirtyNames(), 7, 12345)
	}
	if output := must(r.marshal(make([]byte, 0, 1<<16), m)); output != nil {
		return output
	}
	return m.All()
}

func timerRestart() (metrics.Metrics, func(int)) {
	m := metrics.New()
	return m, func(n int) {
		for range n {
			m.Timer("foo").Start()
			_ = m.Timer("foo").Stop()
			_ = m.Timer("foo").Stop() // Second stop to exercise the sync guard.
			m.Timer("foo").Start()
			_ = m.Timer("foo").Stop()
		}
	}
}

// newRequest records the metrics of OPA's server for a query that the server
// has compiled before: 4 timers, 1 counter, 8 clock readings.
func newRequest() metrics.Metrics {
	m := fresh()
	m.Timer(metrics.ServerHandler).Start()
	m.Timer(metrics.RegoInputParse).Start()
	m.Timer(metrics.RegoInputParse).Stop()
	m.Counter(metrics.ServerQueryCacheHit).Incr()
	m.Timer(metrics.RegoExternalResolve).Start()
	m.Timer(metrics.RegoExternalResolve).Stop()
	m.Timer(metrics.RegoQueryEval).Start()
	m.Timer(metrics.RegoQueryEval).Stop()
	m.Timer(metrics.ServerHandler).Stop()
	return m
}

func requestAll() map[string]any { return newRequest().All() }

func requestJSON() []byte { return must(newRequest().MarshalJSON()) }

// unknownAll records 9 timers and 3 counters.
func unknownAll() func(int) map[string]any {
	names := Names("unknown_name_%d", 12*rotationSize)
	return func(i int) map[string]any {
		names, m := names[12*(i%rotationSize):], fresh()
		for _, name := range names[:9] {
			m.Timer(name).Start()
			m.Timer(name).Stop()
		}
		for _, name := range names[9:12] {
			m.Counter(name).Add(1000)
		}
		return m.All()
	}
}

// instrumented returns the setup of a request with five operations that are
// instrumented as in topdown, 40 times each: 608 clock readings.
func instrumented(operations ...string) func() func(int) map[string]any {
	return each(func() map[string]any {
		m := newRequest()
		for range 40 {
			for _, name := range operations {
				m.Timer(name).Start()
				delta := m.Timer(name).Stop()
				m.Histogram(name).Update(delta)
			}
		}
		return m.All()
	})
}

// fullHistogram has a reservoir as it is for most of a server's life: it is
// full, and most new values do not enter it.
func fullHistogram(int) metrics.Metrics { return withFullReservoirs("eval_op_plug") }

func withFullReservoirs(names ...string) metrics.Metrics {
	m := fresh()
	values := Values(1, 1024)
	for _, name := range names {
		for i := range 200_000 {
			m.Histogram(name).Update(values[i%len(values)])
		}
	}
	return m
}

func updateFull() (metrics.Metrics, func(int)) {
	m := fullHistogram(0)
	h := m.Histogram("eval_op_plug")
	values := Values(2, 1024)
	return m, func(n int) {
		for i := range n {
			h.Update(values[i&1023])
		}
	}
}

func statistics() func(int) any {
	var sets [rotationSize][]int64
	for i := range sets {
		sets[i] = Values(uint64(i), 1000)
	}
	return func(i int) any { return metrics.Statistics(sets[i%rotationSize]...) }
}

// byNames returns the setup of a case in which each goroutine uses the metric
// of one of the names. loop does the operation n times.
func byNames(names []string, build func() metrics.Metrics, loop func(m metrics.Metrics, name string, n int)) func() (metrics.Metrics, func(int)) {
	return func() (metrics.Metrics, func(int)) {
		m, next := build(), make(chan string, len(names))
		for _, name := range names {
			next <- name
		}
		return m, func(n int) { loop(m, <-next, n) }
	}
}

func counters(names ...string) func() (metrics.Metrics, func(int)) {
	return byNames(names, newRequest, func(m metrics.Metrics, name string, n int) {
		for range n {
			m.Counter(name).Incr()
		}
	})
}

func timers(names ...string) func() (metrics.Metrics, func(int)) {
	return byNames(names, newRequest, func(m metrics.Metrics, name string, n int) {
		for range n {
			m.Timer(name).Start()
			m.Timer(name).Stop()
		}
	})
}

func timerHandles(names ...string) func() (metrics.Metrics, func(int)) {
	return byNames(names, newRequest, func(m metrics.Metrics, name string, n int) {
		t := m.Timer(name)
		for range n {
			t.Start()
			t.Stop()
		}
	})
}

func updates(names ...string) func() (metrics.Metrics, func(int)) {
	values := Values(2, 1024)
	build := func() metrics.Metrics { return withFullReservoirs(names...) }
	return byNames(names, build, func(m metrics.Metrics, name string, n int) {
		for i := range n {
			m.Histogram(name).Update(values[i&1023])
		}
	})
}

// firstLookup makes a collection with eight timers. It takes their names from
// ten thousand.
func firstLookup() func(int) metrics.Metrics {
	names := Names("first_lookup_%d", 10_000)
	return func(i int) metrics.Metrics {
		m := fresh()
		at := 8 * (i % (len(names) / 8))
		for _, name := range names[at : at+8] {
			m.Timer(name)
		}
		return m
	}
}

// freshNames makes a collection of ten thousand counters. It repeats a name
// only after a hundred thousand.
func freshNames() func(int) metrics.Metrics {
	names := Names("fresh_counter_%d", 100_000)
	return func(i int) metrics.Metrics {
		m := fresh()
		at := i % 10 * 10_000
		for _, name := range names[at : at+10_000] {
			m.Counter(name)
		}
		return m
	}
}

// clearAndRefill clears a collection and records a request again.
func clearAndRefill() (metrics.Metrics, func(int)) {
	m := fresh()
	return m, func(n int) {
		for range n {
			m.Clear()
			m.Counter(metrics.ServerQueryCacheHit).Incr()
			m.Timer(metrics.ServerHandler)
			m.Timer(metrics.RegoInputParse)
			m.Timer(metrics.RegoExternalResolve)
			m.Timer(metrics.RegoQueryEval)
		}
	}
}

// lookup increments counters of a collection with size counters, in an order
// that jumps across the whole collection.
func lookup(size int) func() (metrics.Metrics, func(int)) {
	return func() (metrics.Metrics, func(int)) {
		m := fresh()
		for _, name := range Names("lookup_counter_%d", size) {
			m.Counter(name).Add(1000)
		}
		names := Names("lookup_counter_%d", size)
		return m, func(n int) {
			at := 0
			for range n {
				m.Counter(names[at]).Incr()
				if at += 37; at >= size {
					at -= size
				}
			}
		}
	}
}

// noOp records a request on the collection that keeps nothing.
func noOp() (metrics.Metrics, func(int)) {
	m := quiet()
	return m, func(n int) {
		for range n {
			m.Timer(metrics.ServerHandler).Start()
			m.Timer(metrics.RegoQueryEval).Start()
			m.Timer(metrics.RegoQueryEval).Stop()
			m.Counter(metrics.ServerQueryCacheHit).Incr()
			m.Histogram("eval_op_plug").Update(1000)
			m.Timer(metrics.ServerHandler).Stop()
		}
	}
}

//go:noinline
func quiet() metrics.Metrics { return metrics.NoOp() }
