// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	regometer "github.com/regometer/regometer/bench/cases/regometer"
	"github.com/regometer/regometer/bench/workload"
)

// floors are the least that any implementation has to do for a case, measured
// in the same binary: readings of the monotonic clock, one allocation of
// requestSize bytes for a collection, atomic adds, the map and the boxes of
// its values, and the copy of a finished output.
var floors = map[string]func(b *testing.B, goroutines int){
	"marshal_opa":       jsonPass("marshal_opa"),
	"marshal_rotated":   outputClone("marshal_rotated", 1),
	"marshal_first":     outputClone("marshal_first", 0),
	"marshal_updated":   outputClone("marshal_updated", 30),
	"marshal_unchanged": outputClone("marshal_unchanged", 0),
	"append_opa":        outputCopy("append_opa", 0),
	"append_rotated":    outputCopy("append_rotated", 1),
	"append_first":      outputCopy("append_first", 0),
	"append_updated":    outputCopy("append_updated", 30),
	"append_unchanged":  outputCopy("append_unchanged", 0),
	"timer_restart":     clockReadings(4),
	"request": perIteration(func() {
		readClock(8)
		collectionSink.Store(new([requestSize / 8]uint64))
	}),
	"request_all": perIteration(func() {
		readClock(8)
		collectionSink.Store(new([requestSize / 8]uint64))
		m := make(map[string]any, 5)
		for _, key := range requestKeys {
			m[key] = nanoseconds
		}
		mapSink.Store(&m)
	}),
	"unknown_all": perIteration(func() {
		readClock(18)
		collectionSink.Store(new([requestSize / 8]uint64))
		m := make(map[string]any, 12)
		for _, key := range unknownKeys {
			m[key] = nanoseconds
		}
		mapSink.Store(&m)
	}),
	"request_json": func(b *testing.B, goroutines int) {
		output := resultOf("request_json")
		perIteration(func() {
			readClock(8)
			collectionSink.Store(new([requestSize / 8]uint64))
			bytesSink(bytes.Clone(output))
		})(b, goroutines)
	},
	"instrumented_all": clockReadings(608),
	"update_full":      clockAndAdds(1, 1),
	"statistics":       onePass,
	"by_name_counter":  clockAndAdds(0, 1),
	"by_name_timer":    clockAndAdds(2, 2),
	"by_name_update":   clockAndAdds(1, 1),
	"own_timer":        clockReadings(2),
	"own_update":       clockReadings(1),
	"timer_handle":     clockAndAdds(2, 2),
}

// requestSize is what a collection of 6 timers and 2 counters takes at least,
// in bytes: a name and a value each, and a little around them.
const requestSize = 208

// base is a monotonic time, as programs keep one: reading it again by
// time.Since costs about half of what time.Now does.
var base = time.Now()

var (
	clockSink      atomic.Int64
	addSink        atomic.Int64
	collectionSink atomic.Pointer[[requestSize / 8]uint64]
	mapSink        atomic.Pointer[map[string]any]
	nanoseconds    int64 = 12_345

	requestKeys = strings.Fields("timer_server_handler_ns timer_rego_input_parse_ns timer_rego_external_resolve_ns timer_rego_query_eval_ns counter_server_query_cache_hit")
	unknownKeys = workload.Names("timer_unknown_name_%d_ns", 12)
)

//go:noinline
func bytesSink([]byte) {}

func readClock(n int) {
	var sum time.Duration
	for range n {
		sum += time.Since(base)
	}
	if sum < 0 { // never; it keeps the readings
		clockSink.Store(int64(sum))
	}
}

func perIteration(do func()) func(*testing.B, int) {
	return func(b *testing.B, goroutines int) {
		b.ReportAllocs()
		b.ResetTimer()
		workload.Spread(b, goroutines, func(n int) {
			for range n {
				do()
			}
		})
	}
}

func clockReadings(readings int) func(*testing.B, int) {
	return func(b *testing.B, goroutines int) {
		workload.Spread(b, goroutines, func(n int) { readClock(n * readings) })
	}
}

// clockAndAdds reads the clock and adds to one shared word: written out for
// the pairs that are used, since a loop would cost as much as an add.
func clockAndAdds(readings, adds int) func(*testing.B, int) {
	return func(b *testing.B, goroutines int) {
		workload.Spread(b, goroutines, func(n int) {
			switch {
			case readings == 0 && adds == 1:
				for range n {
					addSink.Add(1)
				}
			case readings == 1 && adds == 1:
				for range n {
					addSink.Add(int64(time.Since(base)))
				}
			case readings == 2 && adds == 2:
				for range n {
					addSink.Add(int64(time.Since(base)))
					addSink.Add(int64(time.Since(base)))
				}
			default:
				b.Error("no such loop")
			}
		})
	}
}

func resultOf(name string) []byte { return regometer.Cases[name].Result().([]byte) }

type finished []byte

func (f finished) MarshalJSON() ([]byte, error) { return f, nil }

// jsonPass is encoding/json's own work for a Marshaler whose output is ready.
func jsonPass(name string) func(*testing.B, int) {
	return func(b *testing.B, _ int) {
		output := finished(resultOf(name))
		for b.Loop() {
			if _, err := json.Marshal(output); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func outputClone(name string, readings int) func(*testing.B, int) {
	return func(b *testing.B, _ int) {
		output := resultOf(name)
		for b.Loop() {
			readClock(readings)
			bytesSink(bytes.Clone(output))
		}
	}
}

func outputCopy(name string, readings int) func(*testing.B, int) {
	return func(b *testing.B, _ int) {
		output := resultOf(name)
		buf := make([]byte, 0, 2*len(output))
		for b.Loop() {
			readClock(readings)
			bytesSink(append(buf, output...))
		}
	}
}

// onePass reads the numbers once and makes the map of a histogram's twelve
// values.
func onePass(b *testing.B, _ int) {
	numbers := workload.Values(1, 1000)
	keys := strings.Fields("count min max mean stddev median 75% 90% 95% 99% 99.9% 99.99%")
	for b.Loop() {
		var sum, least, most int64
		for _, v := range numbers {
			sum, least, most = sum+v, min(least, v), max(most, v)
		}
		m := make(map[string]any, 12)
		values := [...]any{sum, least, most}
		for i, key := range keys {
			m[key] = values[i%3]
		}
		mapSink.Store(&m)
	}
}
