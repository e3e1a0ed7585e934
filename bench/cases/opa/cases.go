// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

// Package cases holds the benchmarks of one implementation.
//
// The same text exists twice, once beside each import of a metrics package:
// the two declare different interfaces, and calling both through a third one
// would blur what takes nanoseconds. Edit the file in cases/opa and run
// "go generate ./cases/regometer"; a test compares the two.
//
// Collections come from fresh, which the compiler may not look into, as they
// come from a function argument in real programs: it can then neither keep a
// collection on the stack nor call its methods directly.
package cases

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/metrics"

	"github.com/regometer/regometer/bench/workload"
)

// Cases are the operations by the name of their row in the catalogue.
var Cases = map[string]workload.Case{
	"marshal_opa":         {Run: marshalOPA, Result: marshalOPAResult},
	"marshal_rotated":     {Run: marshalRotated(toMarshal), Result: marshalResult(rotated, touchOne, toMarshal)},
	"marshal_first":       {Run: marshalFirst(toMarshal), Result: marshalResult(histograms, touchNone, toMarshal)},
	"marshal_updated":     {Run: opaUpdated(toMarshal), Result: marshalResult(opaThirty, touchAll, toMarshal)},
	"marshal_unchanged":   {Run: opaUnchanged(toMarshal), Result: marshalResult(opaThirty, touchNone, toMarshal)},
	"append_opa":          {Run: appendOPA, Result: marshalResult(opaThirty, touchNone, toBuffer)},
	"append_rotated":      {Run: marshalRotated(toBuffer), Result: marshalResult(rotated, touchOne, toBuffer)},
	"append_first":        {Run: marshalFirst(toBuffer), Result: marshalResult(histograms, touchNone, toBuffer)},
	"append_updated":      {Run: opaUpdated(toBuffer), Result: marshalResult(opaThirty, touchAll, toBuffer)},
	"append_unchanged":    {Run: opaUnchanged(toBuffer), Result: marshalResult(opaThirty, touchNone, toBuffer)},
	"timer_restart":       {Run: timerRestart, Result: timerRestartResult},
	"request":             {Run: request, Result: func() any { return newRequest().All() }},
	"request_all":         {Run: requestAll, Result: func() any { return newRequest().All() }},
	"request_json":        {Run: requestJSON, Result: func() any { return must(newRequest().MarshalJSON()) }},
	"unknown_all":         {Run: unknownAll, Result: func() any { return unknownNames(workload.Names("unknown_name_%d", 12)).All() }},
	"instrumented_all":    {Run: instrumentedAll, Result: func() any { return instrumented().All() }},
	"update_full":         {Run: updateFull, Result: func() any { return counts(fullHistogram(), 1) }},
	"statistics":          {Run: statistics, Result: func() any { return metrics.Statistics(workload.Values(1, 1000)...) }},
	"by_name_counter":     {Run: byNameCounter, Result: byNameResult},
	"by_name_timer":       {Run: byNameTimer, Result: byNameResult},
	"by_name_update":      {Run: byNameUpdate, Result: func() any { return counts(fullHistogram(), 1) }},
	"own_counter":         {Run: ownCounter, Result: byNameResult},
	"own_update":          {Run: ownUpdate, Result: func() any { return counts(fullHistogram(), 1) }},
	"own_timer":           {Run: ownTimer, Result: byNameResult},
	"new_unread":          {Run: newUnread, Result: func() any { return fresh().All() }},
	"first_lookup":        {Run: firstLookup, Result: firstLookupResult},
	"fill":                {Run: fill, Result: fillResult},
	"update_accepted":     {Run: updateAccepted, Result: func() any { return counts(fullHistogram(), 1) }},
	"full_marshal_1":      {Run: fullMarshal(1), Result: fullMarshalResult(1)},
	"full_marshal_100":    {Run: fullMarshal(100), Result: fullMarshalResult(100)},
	"full_marshal_2000":   {Run: fullMarshal(2000), Result: fullMarshalResult(2000)},
	"scattered_updated":   {Run: marshalUpdated(toMarshal), Result: marshalResult(thirty, touchAll, toMarshal)},
	"scattered_unchanged": {Run: marshalUnchanged(toMarshal), Result: marshalResult(thirty, touchNone, toMarshal)},
	"full_updated":        {Run: fullUpdated(toMarshal), Result: fullUpdatedResult(toMarshal)},
	"full_append":         {Run: fullUpdated(toBuffer), Result: fullUpdatedResult(toBuffer)},
	"string":              {Run: toString, Result: func() any { return fmt.Sprint(thirty(0)) }},
	"all_histograms":      {Run: allHistograms, Result: func() any { return histograms(0).All() }},
	"timers":              {Run: timers, Result: func() any { return thirty(0).(metrics.TimerMetrics).Timers() }},
	"clear":               {Run: clearAndRefill, Result: clearResult},
	"lookup_100":          {Run: lookup(100), Result: lookupResult(100)},
	"lookup_1000":         {Run: lookup(1000), Result: lookupResult(1000)},
	"lookup_10000":        {Run: lookup(10000), Result: lookupResult(10000)},
	"fresh_10000":         {Run: freshNames, Result: lookupResult(10000)},
	"instrumented_own":    {Run: instrumentedOwn, Result: func() any { return instrumentedWith(ownOperations[:]).All() }},
	"timer_handle":        {Run: timerHandle, Result: timerRestartResult},
	"own_timer_handle":    {Run: ownTimerHandle, Result: timerRestartResult},
	"noop":                {Run: noOp, Result: noOpResult},
}

//go:noinline
func fresh() metrics.Metrics { return metrics.New() }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
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
	for _, name := range workload.Names("rego_timer_example_%d", 10) {
		m.Timer(name).Start()
		m.Timer(name).Stop()
	}
	for i, name := range workload.Names("rego_counter_example_%d", 10) {
		m.Counter(name).Add(uint64(1000 + i))
	}
	addHistograms(m, seed, "rego_histogram_example_%d", 10)
	return m
}

// rotated has 30 counters and 30 histograms of 100 scattered values each.
func rotated(seed int) metrics.Metrics {
	m := fresh()
	for i, name := range workload.Names("rego_counter_example_%d", 30) {
		m.Counter(name).Add(uint64(1000 + i))
	}
	addHistograms(m, seed, "rego_histogram_example_%d", 30)
	return m
}

// histograms has ten histograms of 100 scattered values each.
func histograms(seed int) metrics.Metrics {
	m := fresh()
	addHistograms(m, seed, "rego_histogram_example_%d", 10)
	return m
}

func addHistograms(m metrics.Metrics, seed int, format string, n int) {
	for i, name := range workload.Names(format, n) {
		h := m.Histogram(name)
		for _, v := range workload.Values(uint64(100*seed+i), 100) {
			h.Update(v)
		}
	}
}

// touchOne updates the i-th of thirty histograms, touchAll each of the thirty
// metrics once, by names that are not the strings the metrics were made with.
func touchOne(m metrics.Metrics, names []string, i int, v int64) {
	m.Histogram(names[20+i%30]).Update(v)
}

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

func touchNone(metrics.Metrics, []string, int, int64) {}

// thirtyNames returns the names of ten timers, ten counters and thirty
// histograms.
func thirtyNames() []string {
	names := workload.Names("rego_timer_example_%d", 10)
	names = append(names, workload.Names("rego_counter_example_%d", 10)...)
	return append(names, workload.Names("rego_histogram_example_%d", 30)...)
}

// A marshaler writes a collection, into buf's memory if it can.
type marshaler func(buf []byte, m metrics.Metrics) ([]byte, error)

func toMarshal(_ []byte, m metrics.Metrics) ([]byte, error) { return m.MarshalJSON() }

func toBuffer(buf []byte, m metrics.Metrics) ([]byte, error) { return appendJSON(buf[:0], m) }

func marshalResult(build func(int) metrics.Metrics, touch func(metrics.Metrics, []string, int, int64), marshal marshaler) func() any {
	return func() any {
		m := build(3)
		must(m.MarshalJSON()) // also what is kept of an earlier output must be right
		touch(m, thirtyNames(), 7, 12345)
		return must(marshal(make([]byte, 0, 1<<16), m))
	}
}

func marshalOPA(b *testing.B, _ int) {
	m := opaThirty(0)
	for b.Loop() {
		bs, err := json.Marshal(m)
		if err != nil {
			b.Fatalf("Unexpected error: %v", err)
		}
		if len(bs) == 0 {
			b.Fatal("No output")
		}
	}
}

func marshalOPAResult() any {
	return must(json.Marshal(opaThirty(0)))
}

func appendOPA(b *testing.B, _ int) {
	m := opaThirty(0)
	buf := make([]byte, 0, 1<<16)
	for b.Loop() {
		if _, err := toBuffer(buf, m); err != nil {
			b.Fatal(err)
		}
	}
}

// warm builds the collections of a rotation and marshals each twice, so that
// whatever an implementation keeps for the next time is there.
func warm(build func(int) metrics.Metrics) []metrics.Metrics {
	ms := make([]metrics.Metrics, workload.Rotation)
	for i := range ms {
		ms[i] = build(i)
		must(ms[i].MarshalJSON())
		must(ms[i].MarshalJSON())
	}
	collectGarbage()
	return ms
}

// collectGarbage keeps the timed region from paying for the garbage of what
// was built before it. It also empties the pools of either side, which it
// fills again, as they are in a program that has been running.
func collectGarbage() {
	runtime.GC()
	must(json.Marshal(histograms(1000)))
}

func marshalRotated(marshal marshaler) func(*testing.B, int) {
	return func(b *testing.B, _ int) {
		names, values := thirtyNames(), workload.Values(1, 1024)
		buf := make([]byte, 0, 1<<16)
		var ms []metrics.Metrics
		i := 0
		for b.Loop() {
			if i%(workload.Rotation*30*workload.Growth) == 0 {
				b.StopTimer()
				ms = warm(rotated)
				b.StartTimer()
			}
			m := ms[i%workload.Rotation]
			touchOne(m, names, i/workload.Rotation, values[i%len(values)])
			if _, err := marshal(buf, m); err != nil {
				b.Fatal(err)
			}
			i++
		}
	}
}

func marshalFirst(marshal marshaler) func(*testing.B, int) {
	return func(b *testing.B, _ int) {
		buf := make([]byte, 0, 1<<16)
		ms := make([]metrics.Metrics, 4*workload.Rotation)
		i := 0
		for b.Loop() {
			if i%len(ms) == 0 {
				b.StopTimer()
				for j := range ms {
					ms[j] = histograms(j)
				}
				collectGarbage()
				b.StartTimer()
			}
			if _, err := marshal(buf, ms[i%len(ms)]); err != nil {
				b.Fatal(err)
			}
			i++
		}
	}
}

// opaUpdated updates OPA's collection once for each time that it is marshalled,
// in the state that this leads to: after 2,000 rounds the histograms are full,
// and stay so. Were the rounds timed from the first one on, the faster side
// would get there sooner.
func opaUpdated(marshal marshaler) func(*testing.B, int) {
	return func(b *testing.B, _ int) {
		names, values := thirtyNames(), workload.Values(1, 1024)
		buf := make([]byte, 0, 1<<16)
		m := opaThirty(0)
		i := 0
		for ; i < 2000; i++ {
			touchAll(m, names, i, values[i%len(values)])
		}
		must(m.MarshalJSON())
		must(m.MarshalJSON())
		for b.Loop() {
			touchAll(m, names, i, values[i%len(values)])
			if _, err := marshal(buf, m); err != nil {
				b.Fatal(err)
			}
			i++
		}
	}
}

func opaUnchanged(marshal marshaler) func(*testing.B, int) {
	return func(b *testing.B, _ int) {
		buf := make([]byte, 0, 1<<16)
		m := opaThirty(0)
		must(m.MarshalJSON())
		for b.Loop() {
			if _, err := marshal(buf, m); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// marshalUpdated does the same with scattered values, and with histograms that
// stay at 100 to 200 of them.
func marshalUpdated(marshal marshaler) func(*testing.B, int) {
	return func(b *testing.B, _ int) {
		names, values := thirtyNames(), workload.Values(1, 1024)
		buf := make([]byte, 0, 1<<16)
		var ms []metrics.Metrics
		i := 0
		for b.Loop() {
			if i%(workload.Rotation*workload.Growth) == 0 {
				b.StopTimer()
				ms = warm(thirty)
				b.StartTimer()
			}
			m := ms[i%workload.Rotation]
			touchAll(m, names, i, values[i%len(values)])
			if _, err := marshal(buf, m); err != nil {
				b.Fatal(err)
			}
			i++
		}
	}
}

func marshalUnchanged(marshal marshaler) func(*testing.B, int) {
	return func(b *testing.B, _ int) {
		buf := make([]byte, 0, 1<<16)
		ms := warm(thirty)
		i := 0
		for b.Loop() {
			if _, err := marshal(buf, ms[i%workload.Rotation]); err != nil {
				b.Fatal(err)
			}
			i++
		}
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

func timerRestartResult() any {
	t := fresh().Timer("foo")
	t.Start()
	first := t.Stop()
	idle := t.Stop()
	t.Start()
	second := t.Stop()
	return fmt.Sprintf("%t %d %T", t.Int64() == first+second, idle, t.Value())
}

func timerHandle(b *testing.B, goroutines int) {
	m := fresh()
	b.ResetTimer()
	workload.Spread(b, goroutines, func(n int) {
		t := m.Timer(metrics.RegoQueryEval)
		for range n {
			t.Start()
			t.Stop()
		}
	})
}

// ownTimerHandle keeps two timers, which were looked up one after the other.
func ownTimerHandle(b *testing.B, goroutines int) {
	m := newRequest()
	names := ownNames(metrics.RegoExternalResolve, metrics.RegoQueryEval)
	b.ResetTimer()
	workload.Spread(b, goroutines, func(n int) {
		t := m.Timer(<-names)
		for range n {
			t.Start()
			t.Stop()
		}
	})
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

func request(b *testing.B, goroutines int) {
	b.ReportAllocs()
	workload.Spread(b, goroutines, func(n int) {
		for range n {
			newRequest()
		}
	})
}

func requestAll(b *testing.B, goroutines int) {
	b.ReportAllocs()
	workload.Spread(b, goroutines, func(n int) {
		for range n {
			newRequest().All()
		}
	})
}

func requestJSON(b *testing.B, goroutines int) {
	b.ReportAllocs()
	workload.Spread(b, goroutines, func(n int) {
		for range n {
			must(newRequest().MarshalJSON())
		}
	})
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
	names := workload.Names("unknown_name_%d", 12*workload.Rotation)
	i := 0
	for b.Loop() {
		at := 12 * (i % workload.Rotation)
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

func instrumentedAll(b *testing.B, goroutines int) {
	b.ReportAllocs()
	workload.Spread(b, goroutines, func(n int) {
		for range n {
			instrumented().All()
		}
	})
}

func instrumentedOwn(b *testing.B, _ int) {
	for b.Loop() {
		instrumentedWith(ownOperations[:]).All()
	}
}

// fullHistogram has a reservoir of the state that it has for most of a
// server's life: full, and most new values do not enter. The name is the one
// that byNameUpdate looks up.
func fullHistogram() metrics.Metrics {
	m := fresh()
	h := m.Histogram("eval_op_plug")
	values := workload.Values(1, 1024)
	for i := range 200_000 {
		h.Update(values[i%len(values)])
	}
	return m
}

// counts adds more values and returns the part of the output that does not
// depend on the sample's random draws.
func counts(m metrics.Metrics, more int) any {
	h := m.Histogram("eval_op_plug")
	for i := range more {
		h.Update(int64(1000 + i))
	}
	value := h.Value().(map[string]any)
	return []any{value["count"], len(value), len(m.All())}
}

func updateFull(b *testing.B, goroutines int) {
	h := fullHistogram().Histogram("eval_op_plug")
	values := workload.Values(2, 1024)
	b.ResetTimer()
	workload.Spread(b, goroutines, func(n int) {
		for i := range n {
			h.Update(values[i&1023])
		}
	})
}

func statistics(b *testing.B, _ int) {
	var sets [workload.Rotation][]int64
	for i := range sets {
		sets[i] = workload.Values(uint64(i), 1000)
	}
	i := 0
	for b.Loop() {
		metrics.Statistics(sets[i%workload.Rotation]...)
		i++
	}
}

func byNameCounter(b *testing.B, goroutines int) {
	m := newRequest()
	b.ResetTimer()
	workload.Spread(b, goroutines, func(n int) {
		for range n {
			m.Counter(metrics.ServerQueryCacheHit).Incr()
		}
	})
}

func byNameTimer(b *testing.B, goroutines int) {
	m := newRequest()
	b.ResetTimer()
	workload.Spread(b, goroutines, func(n int) {
		for range n {
			m.Timer(metrics.RegoQueryEval).Start()
			m.Timer(metrics.RegoQueryEval).Stop()
		}
	})
}

func byNameUpdate(b *testing.B, goroutines int) {
	m := fullHistogram()
	values := workload.Values(2, 1024)
	b.ResetTimer()
	workload.Spread(b, goroutines, func(n int) {
		for i := range n {
			m.Histogram("eval_op_plug").Update(values[i&1023])
		}
	})
}

func byNameResult() any {
	m := newRequest()
	m.Counter(metrics.ServerQueryCacheHit).Incr()
	m.Timer(metrics.RegoQueryEval).Start()
	m.Timer(metrics.RegoQueryEval).Stop()
	return m.All()
}

// The following have each goroutine use a metric of its own in one collection.

func ownCounter(b *testing.B, goroutines int) {
	m := fresh()
	names := ownNames(metrics.ServerQueryCacheHit, "eval_op_virtual_cache_hit")
	for range cap(names) {
		name := <-names
		m.Counter(name)
		names <- name
	}
	b.ResetTimer()
	workload.Spread(b, goroutines, func(n int) {
		name := <-names
		defer func() { names <- name }()
		for range n {
			m.Counter(name).Incr()
		}
	})
}

func ownTimer(b *testing.B, goroutines int) {
	m := newRequest()
	names := ownNames(metrics.RegoQueryEval, metrics.RegoInputParse)
	b.ResetTimer()
	workload.Spread(b, goroutines, func(n int) {
		name := <-names
		defer func() { names <- name }()
		for range n {
			m.Timer(name).Start()
			m.Timer(name).Stop()
		}
	})
}

func ownUpdate(b *testing.B, goroutines int) {
	m := fullHistogram()
	for i := range 200_000 {
		m.Histogram("eval_op_resolve").Update(int64(1000 + i))
	}
	names := ownNames("eval_op_plug", "eval_op_resolve")
	values := workload.Values(2, 1024)
	b.ResetTimer()
	workload.Spread(b, goroutines, func(n int) {
		name := <-names
		defer func() { names <- name }()
		for i := range n {
			m.Histogram(name).Update(values[i&1023])
		}
	})
}

// ownNames hands a name to each goroutine.
func ownNames(names ...string) chan string {
	c := make(chan string, len(names))
	for _, name := range names {
		c <- name
	}
	return c
}

func newUnread(b *testing.B, _ int) {
	for b.Loop() {
		fresh()
	}
}

// firstLookup makes a collection and eight timers in it, whose names it
// takes from ten thousand.
func firstLookup(b *testing.B, _ int) {
	names := workload.Names("first_lookup_%d", 10_000)
	i := 0
	for b.Loop() {
		m := fresh()
		at := 8 * (i % (len(names) / 8))
		for _, name := range names[at : at+8] {
			m.Timer(name)
		}
		i++
	}
}

func firstLookupResult() any {
	m := fresh()
	for _, name := range workload.Names("first_lookup_%d", 8) {
		m.Timer(name)
	}
	return m.All()
}

// fill takes a histogram from nothing to a full reservoir.
func fill(b *testing.B, _ int) {
	values := workload.Values(1, workload.ReservoirSize)
	for b.Loop() {
		h := fresh().Histogram("fill")
		for _, v := range values {
			h.Update(v)
		}
	}
}

func fillResult() any {
	h := fresh().Histogram("fill")
	for _, v := range workload.Values(1, workload.ReservoirSize) {
		h.Update(v)
	}
	return h.Value()
}

// updateAccepted adds 1,028 values to a reservoir that has just become full:
// two in three enter. With a slow stream of values nearly all do.
func updateAccepted(b *testing.B, _ int) {
	values := workload.Values(1, workload.ReservoirSize)
	hs := make([]metrics.Histogram, workload.Rotation)
	i := 0
	for b.Loop() {
		if i%len(hs) == 0 {
			b.StopTimer()
			for j := range hs {
				hs[j] = fresh().Histogram("accepted")
				for _, v := range values {
					hs[j].Update(v)
				}
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

// fullMarshal marshals a full reservoir after so many more updates, which
// are timed.
func fullMarshal(updates int) func(*testing.B, int) {
	return func(b *testing.B, _ int) {
		ms := warm(func(int) metrics.Metrics { return fullHistogram() })
		values := workload.Values(3, 4096)
		i := 0
		for b.Loop() {
			m := ms[i%workload.Rotation]
			h := m.Histogram("eval_op_plug")
			for j := range updates {
				h.Update(values[(i+j)&4095])
			}
			must(m.MarshalJSON())
			i++
		}
	}
}

func fullMarshalResult(updates int) func() any {
	return func() any { return counts(fullHistogram(), updates) }
}

// fullThirty is thirty with more values than fit in its reservoirs.
func fullThirty(seed int) metrics.Metrics {
	m := thirty(seed)
	for i, name := range workload.Names("rego_histogram_example_%d", 10) {
		h := m.Histogram(name)
		values := workload.Values(uint64(100*seed+i), 1024)
		for j := range 20_000 {
			h.Update(values[j%len(values)])
		}
	}
	return m
}

func fullUpdated(marshal marshaler) func(*testing.B, int) {
	return func(b *testing.B, _ int) {
		names, values := thirtyNames(), workload.Values(1, 1024)
		buf := make([]byte, 0, 1<<16)
		ms := warm(fullThirty)
		i := 0
		for b.Loop() {
			m := ms[i%workload.Rotation]
			touchAll(m, names, i, values[i%len(values)])
			if _, err := marshal(buf, m); err != nil {
				b.Fatal(err)
			}
			i++
		}
	}
}

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

func toString(b *testing.B, _ int) {
	ms := warm(thirty)
	i := 0
	for b.Loop() {
		_ = ms[i%workload.Rotation].(fmt.Stringer).String()
		i++
	}
}

func allHistograms(b *testing.B, _ int) {
	ms := warm(histograms)
	i := 0
	for b.Loop() {
		ms[i%workload.Rotation].All()
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
func lookup(n int) func(*testing.B, int) {
	return func(b *testing.B, goroutines int) {
		m := lookupCollection(n)
		names := workload.Names("lookup_counter_%d", n)
		b.ResetTimer()
		workload.Spread(b, goroutines, func(iterations int) {
			at := 0
			for range iterations {
				m.Counter(names[at]).Incr()
				if at += 37; at >= n {
					at -= n
				}
			}
		})
	}
}

func lookupCollection(n int) metrics.Metrics {
	m := fresh()
	for _, name := range workload.Names("lookup_counter_%d", n) {
		m.Counter(name).Add(1000)
	}
	return m
}

// freshNames makes a collection of ten thousand counters, of names that it has
// not used before until it has been through ten times as many.
func freshNames(b *testing.B, _ int) {
	names := workload.Names("fresh_counter_%d", 100_000)
	i := 0
	for b.Loop() {
		m := fresh()
		for _, name := range names[i*10_000 : (i+1)*10_000] {
			m.Counter(name)
		}
		i = (i + 1) % 10
	}
}

func lookupResult(n int) func() any {
	return func() any { return lookupCollection(n).All() }
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
