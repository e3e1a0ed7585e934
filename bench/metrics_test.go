// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/open-policy-agent/opa/v1/metrics"
)

// fresh returns a collection as real programs get one, from a function
// argument. The compiler can neither keep it on the stack nor call its methods
// directly.
//
//go:noinline
func fresh() metrics.Metrics { return metrics.New() }

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

// parallel runs a function with one goroutine and with two.
func parallel(b *testing.B, do func()) {
	for _, goroutines := range []int{1, 2} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			b.ReportAllocs()
			var wg sync.WaitGroup
			for g := range goroutines {
				wg.Go(func() {
					for range (b.N + g) / goroutines {
						do()
					}
				})
			}
			wg.Wait()
		})
	}
}

func BenchmarkRequest(b *testing.B) {
	parallel(b, func() { newRequest() })
}

func BenchmarkRequestAll(b *testing.B) {
	parallel(b, func() { newRequest().All() })
}

func BenchmarkRequestJSON(b *testing.B) {
	parallel(b, func() {
		if _, err := newRequest().MarshalJSON(); err != nil {
			b.Error(err)
		}
	})
}

// BenchmarkInstrumented has five operations that are instrumented as in
// topdown, 40 times each: 608 clock readings.
func BenchmarkInstrumented(b *testing.B) {
	operations := []string{"eval_op_plug", "eval_op_resolve", "eval_op_rule_index", "eval_op_builtin_call", "eval_op_virtual_cache_miss"}
	parallel(b, func() {
		m := newRequest()
		for range 40 {
			for _, name := range operations {
				m.Timer(name).Start()
				m.Histogram(name).Update(m.Timer(name).Stop())
			}
		}
		m.All()
	})
}

// BenchmarkUnknownNames records 9 timers and 3 counters whose names are not
// OPA's.
func BenchmarkUnknownNames(b *testing.B) {
	all := Names("unknown_name_%d", 192)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		names, m := all[12*(i%16):], fresh()
		for _, name := range names[:9] {
			m.Timer(name).Start()
			m.Timer(name).Stop()
		}
		for _, name := range names[9:12] {
			m.Counter(name).Add(1000)
		}
		m.All()
	}
}

func BenchmarkNewUnread(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		fresh()
	}
}

// BenchmarkNewNames makes collections with eight timers of new names. A name
// returns after ten thousand.
func BenchmarkNewNames(b *testing.B) {
	names := Names("new_name_%d", 10_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m, at := fresh(), 8*(i%1250)
		for _, name := range names[at : at+8] {
			m.Timer(name)
		}
	}
}

// BenchmarkManyNames makes collections of 10,000 counters. A name returns after
// a hundred thousand.
func BenchmarkManyNames(b *testing.B) {
	names := Names("many_names_%d", 100_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m, at := fresh(), i%10*10_000
		for _, name := range names[at : at+10_000] {
			m.Counter(name)
		}
	}
}

func BenchmarkClear(b *testing.B) {
	m := fresh()
	b.ReportAllocs()
	for b.Loop() {
		m.Clear()
		m.Counter(metrics.ServerQueryCacheHit).Incr()
		m.Timer(metrics.ServerHandler)
		m.Timer(metrics.RegoInputParse)
		m.Timer(metrics.RegoExternalResolve)
		m.Timer(metrics.RegoQueryEval)
	}
}

// The next benchmarks share a collection.

func BenchmarkCounter(b *testing.B) {
	m := newRequest()
	parallel(b, func() { m.Counter(metrics.ServerQueryCacheHit).Incr() })
}

func BenchmarkTimer(b *testing.B) {
	m := newRequest()
	parallel(b, func() {
		m.Timer(metrics.RegoQueryEval).Start()
		m.Timer(metrics.RegoQueryEval).Stop()
	})
}

func BenchmarkTimerHandle(b *testing.B) {
	t := newRequest().Timer(metrics.RegoQueryEval)
	parallel(b, func() {
		t.Start()
		t.Stop()
	})
}

// BenchmarkUpdate updates a histogram whose reservoir is full, as it is for
// most of a server's life: most values do not enter it.
func BenchmarkUpdate(b *testing.B) {
	m := fresh()
	for _, v := range Values(1, 200_000) {
		m.Histogram("eval_op_plug").Update(v)
	}
	parallel(b, func() { m.Histogram("eval_op_plug").Update(1_000_000) })
}

// BenchmarkFill updates a new histogram until its reservoir is full.
func BenchmarkFill(b *testing.B) {
	values := Values(1, 1028)
	b.ReportAllocs()
	for b.Loop() {
		h := fresh().Histogram("fill")
		for _, v := range values {
			h.Update(v)
		}
	}
}

// BenchmarkScattered increments counters in an order that jumps across a large
// collection.
func BenchmarkScattered(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("names=%d", size), func(b *testing.B) {
			m := fresh()
			for _, name := range Names("scattered_%d", size) {
				m.Counter(name).Incr()
			}
			names := Names("scattered_%d", size)
			b.ReportAllocs()
			for at := 0; b.Loop(); at = (at + 37) % size {
				m.Counter(names[at]).Incr()
			}
		})
	}
}

// BenchmarkStatistics takes sets in turns. Of a single one the branch predictor
// learns the order, and sorting looks three to five times as fast.
func BenchmarkStatistics(b *testing.B) {
	var sets [16][]int64
	for i := range sets {
		sets[i] = Values(uint64(i), 1000)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		metrics.Statistics(sets[i%len(sets)]...)
	}
}

// The next benchmarks read collections of ten metrics of each kind, 16 in
// turns, for the same reason.

var names = slices.Concat(Names("rego_timer_example_%d", 10), Names("rego_counter_example_%d", 10), Names("rego_histogram_example_%d", 10))

// update updates each metric once.
func update(m metrics.Metrics, v int64) {
	for i := range 10 {
		m.Timer(names[i]).Start()
		m.Timer(names[i]).Stop()
		m.Counter(names[10+i]).Add(uint64(v))
		m.Histogram(names[20+i]).Update(v)
	}
}

// collections returns collections, each metric of which was updated a number of
// times.
func collections(updates int) (all [16]metrics.Metrics) {
	for i := range all {
		all[i] = fresh()
		for _, v := range Values(uint64(i), updates) {
			update(all[i], v)
		}
	}
	return all
}

// read measures reading collections. If updates is true, each metric is updated
// before.
func read(b *testing.B, all [16]metrics.Metrics, updates bool, read func(m metrics.Metrics) error) {
	values := Values(99, 1024)
	for _, m := range all {
		if err := read(m); err != nil { // what an implementation keeps is there now
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m := all[i%len(all)]
		if updates {
			update(m, values[i%len(values)])
		}
		if err := read(m); err != nil {
			b.Fatal(err)
		}
	}
}

func marshal(m metrics.Metrics) error {
	_, err := m.MarshalJSON()
	return err
}

// appended returns a function that appends a collection to a buffer.
func appended() func(m metrics.Metrics) error {
	buf := make([]byte, 0, 1<<16)
	return func(m metrics.Metrics) error {
		_, err := appendJSON(buf, m)
		return err
	}
}

const (
	few  = 100    // updates, with which a histogram keeps all values
	many = 20_000 // updates, which are more than a histogram keeps
)

func BenchmarkMarshalFirst(b *testing.B) {
	all := collections(few)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i > 0 && i%len(all) == 0 {
			b.StopTimer()
			all = collections(few)
			b.StartTimer()
		}
		if err := marshal(all[i%len(all)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshalUnchanged(b *testing.B) { read(b, collections(few), false, marshal) }
func BenchmarkMarshalUpdated(b *testing.B)   { read(b, collections(many), true, marshal) }
func BenchmarkAppendUnchanged(b *testing.B)  { read(b, collections(few), false, appended()) }
func BenchmarkAppendUpdated(b *testing.B)    { read(b, collections(many), true, appended()) }

func BenchmarkAll(b *testing.B) {
	read(b, collections(few), false, func(m metrics.Metrics) error {
		m.All()
		return nil
	})
}

func BenchmarkString(b *testing.B) {
	read(b, collections(few), false, func(m metrics.Metrics) error {
		_ = m.(fmt.Stringer).String()
		return nil
	})
}

// BenchmarkNoOp records on the collection that keeps nothing.
func BenchmarkNoOp(b *testing.B) {
	m := metrics.NoOp()
	b.ReportAllocs()
	for b.Loop() {
		update(m, 1000)
	}
}
