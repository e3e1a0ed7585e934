// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/metrics"
)

// fresh returns a collection as real programs get one, from a function
// argument: the compiler cannot keep it on the stack, nor call its methods
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

func allOf(build func() metrics.Metrics) func() any {
	return func() any { return build().All() }
}

// A loop does an operation some number of times.
type loop func(iterations int)

// spread measures the loop that setup returns.
func spread(setup func() loop) func(*testing.B, int) {
	return func(b *testing.B, goroutines int) { Spread(b, goroutines, setup()) }
}

// opaThirty is the collection of OPA's BenchmarkMetricsMarshaling: ten
// metrics of each kind, a hundred small neighbouring values a histogram.
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

// thirty has the same shape with scattered values above 255.
func thirty(seed int) metrics.Metrics {
	m := fresh()
	for _, name := range Names("rego_timer_example_%d", 10) {
		m.Timer(name).Start()
		m.Timer(name).Stop()
	}
	addCounters(m, 10)
	addHistograms(m, seed, 10, 100)
	return m
}

// fullThirty is thirty with more values than fit in its reservoirs.
func fullThirty(seed int) metrics.Metrics {
	m := thirty(seed)
	addHistograms(m, seed, 10, 20_000)
	return m
}

// rotated has 30 counters and 30 histograms of 100 scattered values each.
func rotated(seed int) metrics.Metrics {
	m := fresh()
	addCounters(m, 30)
	addHistograms(m, seed, 30, 100)
	return m
}

// histograms has ten histograms of 100 scattered values each.
func histograms(seed int) metrics.Metrics {
	m := fresh()
	addHistograms(m, seed, 10, 100)
	return m
}

func addCounters(m metrics.Metrics, n int) {
	for i, name := range Names("rego_counter_example_%d", n) {
		m.Counter(name).Add(uint64(1000 + i))
	}
}

func addHistograms(m metrics.Metrics, seed, n, values int) {
	for i, name := range Names("rego_histogram_example_%d", n) {
		h := m.Histogram(name)
		scattered := Values(uint64(100*seed+i), min(values, 1024))
		for j := range values {
			h.Update(scattered[j%len(scattered)])
		}
	}
}

// thirtyNames returns the names of ten timers, ten counters and thirty
// histograms. The metrics were not made with these strings.
func thirtyNames() []string {
	names := Names("rego_timer_example_%d", 10)
	names = append(names, Names("rego_counter_example_%d", 10)...)
	return append(names, Names("rego_histogram_example_%d", 30)...)
}

// A marshaler writes a collection, into buf's memory if it can.
type marshaler func(buf []byte, m metrics.Metrics) ([]byte, error)

func toMarshal(_ []byte, m metrics.Metrics) ([]byte, error) { return m.MarshalJSON() }

func toBuffer(buf []byte, m metrics.Metrics) ([]byte, error) { return appendJSON(buf[:0], m) }

func byEncodingJSON(_ []byte, m metrics.Metrics) ([]byte, error) { return json.Marshal(m) }

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

// A rotation is a benchmark that takes collections in turns, touches each and
// marshals it.
type rotation struct {
	build   func(seed int) metrics.Metrics
	size    int     // the number of collections, a power of two; 0 is 1
	aged    int     // touch each so often before
	warm    int     // marshal each so often before, so that whatever an implementation keeps is there
	rounds  int     // build them anew after so many turns of each; 0 is never
	touch   toucher // nil for none
	marshal marshaler
}

// collections are not part of what is timed.
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

// collectGarbage keeps the timed region from paying for the garbage of what
// was built before it. It also empties the pools of either side, and fills them
// again, as they are in a program that has been running.
func collectGarbage() {
	runtime.GC()
	must(json.Marshal(histograms(1000)))
}

func (r rotation) run(b *testing.B, _ int) {
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
		must(m.MarshalJSON()) // also what is kept of an earlier output must be right
	}
	if r.touch != nil {
		r.touch(m, thirtyNames(), 7, 12345)
	}
	return must(r.marshal(make([]byte, 0, 1<<16), m))
}

// fullUpdatedResult does not depend on which values are in the reservoirs.
func fullUpdatedResult(marshal marshaler) func() any {
	return func() any {
		m := fullThirty(0)
		touchAll(m, thirtyNames(), 0, 12345)
		var all map[string]any
		if err := json.Unmarshal(must(marshal(nil, m)), &all); err != nil {
			return err
		}
		return []any{len(all), all["histogram_rego_histogram_example_3"].(map[string]any)["count"]}
	}
}

func timerRestart(b *testing.B, _ int) {
	m := metrics.New()

	for b.Loop() {
		m.Timer("foo").Start()
		_ = m.Timer("foo").Stop()
		_ = m.Timer("foo").Stop() // Second stop to exercise the sync guard.
		m.Timer("foo").Start()
		_ = m.Timer("foo").Stop()
	}
}

func timerResult() any {
	t := fresh().Timer("foo")
	t.Start()
	first := t.Stop()
	idle := t.Stop()
	t.Start()
	second := t.Stop()
	return fmt.Sprintf("%t %d %T", t.Int64() == first+second, idle, t.Value())
}

func timerHandle() loop {
	m := fresh()
	return func(n int) {
		t := m.Timer(metrics.RegoQueryEval)
		for range n {
			t.Start()
			t.Stop()
		}
	}
}

// newRequest records what OPA's server records for a query that it has
// compiled before: 4 timers, 1 counter, 8 clock readings.
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

func request() loop {
	return func(n int) {
		for range n {
			newRequest()
		}
	}
}

func requestAll() loop {
	return func(n int) {
		for range n {
			newRequest().All()
		}
	}
}

func requestJSON() loop {
	return func(n int) {
		for range n {
			must(newRequest().MarshalJSON())
		}
	}
}

// unknownNames records 9 timers and 3 counters.
func unknownNames(names []string) metrics.Metrics {
	m := fresh()
	for _, name := range names[:9] {
		m.Timer(name).Start()
		m.Timer(name).Stop()
	}
	for _, name := range names[9:12] {
		m.Counter(name).Add(1000)
	}
	return m
}

func unknownAll(b *testing.B, _ int) {
	names := Names("unknown_name_%d", 12*rotationSize)
	i := 0
	for b.Loop() {
		at := 12 * (i % rotationSize)
		unknownNames(names[at : at+12]).All()
		i++
	}
}

// operations are the five that topdown's instrumentation times most often.
var operations = [...]string{
	"eval_op_plug", "eval_op_resolve", "eval_op_rule_index", "eval_op_builtin_call", "eval_op_virtual_cache_miss",
}

// instrumented is a request with five instrumented operations, 40 times
// each: 608 clock readings.
func instrumented() metrics.Metrics { return instrumentedWith(operations[:]) }

// ownOperations are none of OPA's.
var ownOperations = [...]string{"own_op_fetch", "own_op_parse", "own_op_match", "own_op_merge", "own_op_write"}

func instrumentedWith(operations []string) metrics.Metrics {
	m := newRequest()
	for range 40 {
		for _, name := range operations {
			m.Timer(name).Start()
			delta := m.Timer(name).Stop()
			m.Histogram(name).Update(delta)
		}
	}
	return m
}

func instrumentedAll() loop {
	return func(n int) {
		for range n {
			instrumented().All()
		}
	}
}

func instrumentedOwn(b *testing.B, _ int) {
	for b.Loop() {
		instrumentedWith(ownOperations[:]).All()
	}
}

// fullHistogram has a reservoir in the state that it has for most of a server's
// life: it is full, and most new values do not enter.
func fullHistogram(int) metrics.Metrics {
	m := fresh()
	fillReservoir(m.Histogram("eval_op_plug"))
	return m
}

func fillReservoir(h metrics.Histogram) {
	values := Values(1, 1024)
	for i := range 200_000 {
		h.Update(values[i%len(values)])
	}
}

// countsAfter returns the part of the output after more updates that does not
// depend on the sample's random draws.
func countsAfter(updates int) func() any {
	return func() any {
		m := fullHistogram(0)
		h := m.Histogram("eval_op_plug")
		for i := range updates {
			h.Update(int64(1000 + i))
		}
		value := h.Value().(map[string]any)
		return []any{value["count"], len(value), len(m.All())}
	}
}

func updateFull() loop {
	h := fullHistogram(0).Histogram("eval_op_plug")
	values := Values(2, 1024)
	return func(n int) {
		for i := range n {
			h.Update(values[i&1023])
		}
	}
}

func statistics(b *testing.B, _ int) {
	var sets [rotationSize][]int64
	for i := range sets {
		sets[i] = Values(uint64(i), 1000)
	}
	i := 0
	for b.Loop() {
		metrics.Statistics(sets[i%rotationSize]...)
		i++
	}
}

func byNameCounter() loop {
	m := newRequest()
	return func(n int) {
		for range n {
			m.Counter(metrics.ServerQueryCacheHit).Incr()
		}
	}
}

func byNameTimer() loop {
	m := newRequest()
	return func(n int) {
		for range n {
			m.Timer(metrics.RegoQueryEval).Start()
			m.Timer(metrics.RegoQueryEval).Stop()
		}
	}
}

func byNameUpdate() loop {
	m := fullHistogram(0)
	values := Values(2, 1024)
	return func(n int) {
		for i := range n {
			m.Histogram("eval_op_plug").Update(values[i&1023])
		}
	}
}

func byNameResult() any {
	m := newRequest()
	m.Counter(metrics.ServerQueryCacheHit).Incr()
	m.Timer(metrics.RegoQueryEval).Start()
	m.Timer(metrics.RegoQueryEval).Stop()
	return m.All()
}

// In the next four, each goroutine uses a metric of its own in one collection.

// ownNames hands a name to each goroutine.
func ownNames(names ...string) chan string {
	c := make(chan string, len(names))
	for _, name := range names {
		c <- name
	}
	return c
}

func ownCounter() loop {
	m := fresh()
	m.Counter(metrics.ServerQueryCacheHit)
	m.Counter("eval_op_virtual_cache_hit")
	names := ownNames(metrics.ServerQueryCacheHit, "eval_op_virtual_cache_hit")
	return func(n int) {
		name := <-names
		for range n {
			m.Counter(name).Incr()
		}
	}
}

func ownTimer() loop {
	m := newRequest()
	names := ownNames(metrics.RegoQueryEval, metrics.RegoInputParse)
	return func(n int) {
		name := <-names
		for range n {
			m.Timer(name).Start()
			m.Timer(name).Stop()
		}
	}
}

// ownTimerHandle keeps two timers, which were looked up one after the other.
func ownTimerHandle() loop {
	m := newRequest()
	names := ownNames(metrics.RegoExternalResolve, metrics.RegoQueryEval)
	return func(n int) {
		t := m.Timer(<-names)
		for range n {
			t.Start()
			t.Stop()
		}
	}
}

func ownUpdate() loop {
	m := fullHistogram(0)
	fillReservoir(m.Histogram("eval_op_resolve"))
	names := ownNames("eval_op_plug", "eval_op_resolve")
	values := Values(2, 1024)
	return func(n int) {
		name := <-names
		for i := range n {
			m.Histogram(name).Update(values[i&1023])
		}
	}
}

func newUnread(b *testing.B, _ int) {
	for b.Loop() {
		fresh()
	}
}

func withTimers(names []string) metrics.Metrics {
	m := fresh()
	for _, name := range names {
		m.Timer(name)
	}
	return m
}

// firstLookup makes a collection and eight timers in it, whose names it
// takes from ten thousand.
func firstLookup(b *testing.B, _ int) {
	names := Names("first_lookup_%d", 10_000)
	i := 0
	for b.Loop() {
		at := 8 * (i % (len(names) / 8))
		withTimers(names[at : at+8])
		i++
	}
}

// fill takes a histogram from nothing to a full reservoir.
func fill(b *testing.B, _ int) {
	values := Values(1, reservoirSize)
	for b.Loop() {
		filled(values)
	}
}

func filled(values []int64) metrics.Histogram {
	h := fresh().Histogram("fill")
	for _, v := range values {
		h.Update(v)
	}
	return h
}

func fillResult() any { return filled(Values(1, reservoirSize)).Value() }

// updateAccepted adds 1,028 values to a reservoir that has just become full:
// two in three enter. With a slow stream of values nearly all do.
func updateAccepted(b *testing.B, _ int) {
	values := Values(1, reservoirSize)
	hs := make([]metrics.Histogram, rotationSize)
	i := 0
	for b.Loop() {
		if i%len(hs) == 0 {
			b.StopTimer()
			for j := range hs {
				hs[j] = filled(values)
			}
			collectGarbage()
			b.StartTimer()
		}
		h := hs[i%len(hs)]
		for _, v := range values {
			h.Update(v)
		}
		i++
	}
}

// warm returns collections that were marshalled before.
func warm(build func(int) metrics.Metrics) []metrics.Metrics {
	return rotation{build: build, size: rotationSize, warm: 2}.collections(nil, nil)
}

func toString(b *testing.B, _ int) {
	ms := warm(thirty)
	i := 0
	for b.Loop() {
		_ = ms[i%rotationSize].(fmt.Stringer).String()
		i++
	}
}

func allHistograms(b *testing.B, _ int) {
	ms := warm(histograms)
	i := 0
	for b.Loop() {
		ms[i%rotationSize].All()
		i++
	}
}

func timers(b *testing.B, _ int) {
	m := thirty(0).(metrics.TimerMetrics)
	for b.Loop() {
		m.Timers()
	}
}

// clearAndRefill clears a collection and records a request again.
func clearAndRefill(b *testing.B, _ int) {
	m := fresh()
	for b.Loop() {
		m.Clear()
		refill(m)
	}
}

func refill(m metrics.Metrics) {
	m.Counter(metrics.ServerQueryCacheHit).Incr()
	m.Timer(metrics.ServerHandler)
	m.Timer(metrics.RegoInputParse)
	m.Timer(metrics.RegoExternalResolve)
	m.Timer(metrics.RegoQueryEval)
}

func clearResult() any {
	m := newRequest()
	m.Clear()
	refill(m)
	return m.All()
}

// lookup increments counters of a collection with n of them, in an order
// that strides over the whole collection.
func lookup(n int) func() loop {
	return func() loop {
		m := lookupCollection(n)
		names := Names("lookup_counter_%d", n)
		return func(iterations int) {
			at := 0
			for range iterations {
				m.Counter(names[at]).Incr()
				if at += 37; at >= n {
					at -= n
				}
			}
		}
	}
}

func lookupCollection(n int) metrics.Metrics {
	m := fresh()
	for _, name := range Names("lookup_counter_%d", n) {
		m.Counter(name).Add(1000)
	}
	return m
}

func lookupResult(n int) func() any {
	return func() any { return lookupCollection(n).All() }
}

// freshNames makes a collection of ten thousand counters. It repeats a name
// only after a hundred thousand.
func freshNames(b *testing.B, _ int) {
	names := Names("fresh_counter_%d", 100_000)
	i := 0
	for b.Loop() {
		m := fresh()
		for _, name := range names[i*10_000 : (i+1)*10_000] {
			m.Counter(name)
		}
		i = (i + 1) % 10
	}
}

// noOp records a request on the collection that keeps nothing.
func noOp(b *testing.B, _ int) {
	m := quiet()
	for b.Loop() {
		m.Timer(metrics.ServerHandler).Start()
		m.Timer(metrics.RegoQueryEval).Start()
		m.Timer(metrics.RegoQueryEval).Stop()
		m.Counter(metrics.ServerQueryCacheHit).Incr()
		m.Histogram("eval_op_plug").Update(1000)
		m.Timer(metrics.ServerHandler).Stop()
	}
}

//go:noinline
func quiet() metrics.Metrics { return metrics.NoOp() }

func noOpResult() any {
	m := quiet()
	return []any{m.All(), m.Timer("t").Value(), m.Timer("t").Stop(), m.Counter("c").Value(), m.Histogram("h").Value(), string(must(m.MarshalJSON()))}
}
