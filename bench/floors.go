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
)

// A floor is the least that any implementation has to do for a case, measured
// in the same binary: readings of the monotonic clock, one allocation for a
// collection, atomic adds, the map and the boxes of its values, and the copy of
// a finished output.
type floor func(b *testing.B, goroutines int, output []byte)

// requestSize is the least that a collection of 6 timers and 2 counters takes,
// in bytes: a name and a value each, and a little around them.
const requestSize = 208

// base is a monotonic time, as programs keep one. Reading it again by
// time.Since costs about half of what time.Now does.
var base = time.Now()

var (
	clockSink      atomic.Int64
	addSink        atomic.Int64
	collectionSink atomic.Pointer[[requestSize / 8]uint64]
	mapSink        atomic.Pointer[map[string]any]
	nanoseconds    int64 = 12_345

	requestKeys = strings.Fields("timer_server_handler_ns timer_rego_input_parse_ns timer_rego_external_resolve_ns timer_rego_query_eval_ns counter_server_query_cache_hit")
	unknownKeys = Names("timer_unknown_name_%d_ns", 12)
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

// collectionFloor makes a collection, and the map of its values if there are
// keys.
func collectionFloor(readings int, keys []string) floor {
	return func(b *testing.B, goroutines int, _ []byte) {
		Spread(b, goroutines, func(n int) {
			for range n {
				readClock(readings)
				collectionSink.Store(new([requestSize / 8]uint64))
				if keys != nil {
					m := make(map[string]any, len(keys))
					for _, key := range keys {
						m[key] = nanoseconds
					}
					mapSink.Store(&m)
				}
			}
		})
	}
}

func requestJSONFloor(b *testing.B, goroutines int, output []byte) {
	Spread(b, goroutines, func(n int) {
		for range n {
			readClock(8)
			collectionSink.Store(new([requestSize / 8]uint64))
			bytesSink(bytes.Clone(output))
		}
	})
}

func clockReadings(readings int) floor {
	return func(b *testing.B, goroutines int, _ []byte) {
		Spread(b, goroutines, func(n int) { readClock(n * readings) })
	}
}

// The next three add to one shared word. They are written out because a loop
// would cost as much as an add.

func addOnly(b *testing.B, goroutines int, _ []byte) {
	Spread(b, goroutines, func(n int) {
		for range n {
			addSink.Add(1)
		}
	})
}

func clockAndAdd(b *testing.B, goroutines int, _ []byte) {
	Spread(b, goroutines, func(n int) {
		for range n {
			addSink.Add(int64(time.Since(base)))
		}
	})
}

func clockAndAddTwice(b *testing.B, goroutines int, _ []byte) {
	Spread(b, goroutines, func(n int) {
		for range n {
			addSink.Add(int64(time.Since(base)))
			addSink.Add(int64(time.Since(base)))
		}
	})
}

type finished []byte

func (f finished) MarshalJSON() ([]byte, error) { return f, nil }

// jsonPass is encoding/json's own work for a Marshaler whose output is ready.
func jsonPass(b *testing.B, _ int, output []byte) {
	for b.Loop() {
		must(json.Marshal(finished(output)))
	}
}

func outputClone(readings int) floor {
	return func(b *testing.B, _ int, output []byte) {
		for b.Loop() {
			readClock(readings)
			bytesSink(bytes.Clone(output))
		}
	}
}

func outputCopy(readings int) floor {
	return func(b *testing.B, _ int, output []byte) {
		buf := make([]byte, 0, 2*len(output))
		for b.Loop() {
			readClock(readings)
			bytesSink(append(buf, output...))
		}
	}
}

// onePass reads the numbers once and makes the map of a histogram's twelve
// values.
func onePass(b *testing.B, _ int, _ []byte) {
	numbers := Values(1, 1000)
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
