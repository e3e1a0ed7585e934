// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync/atomic"
	"time"
)

// A floor does n times the least that any implementation must do for a case:
// readings of the monotonic clock, one allocation for a collection, atomic
// adds, the map and the boxes of its values, and the copy of a finished output.
// It is measured in the same binary.
type floor func(output []byte, n int)

// requestSize is the least size of a collection of 6 timers and 2 counters, in
// bytes: a name and a value each, and a little around them.
const requestSize = 208

// base is a monotonic time, as programs keep one. time.Since(base) costs about
// half of time.Now.
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
	if sum < 0 { // never; but the compiler must keep the readings
		clockSink.Store(int64(sum))
	}
}

// collectionFloor makes a collection, a copy of the output, and a map with the
// keys, if there are keys.
func collectionFloor(readings int, keys []string) floor {
	return func(output []byte, n int) {
		for range n {
			readClock(readings)
			collectionSink.Store(new([requestSize / 8]uint64))
			bytesSink(bytes.Clone(output))
			if keys != nil {
				makeMap(keys)
			}
		}
	}
}

func makeMap(keys []string) {
	m := make(map[string]any, len(keys))
	for _, key := range keys {
		m[key] = nanoseconds
	}
	mapSink.Store(&m)
}

func clockReadings(readings int) floor {
	return func(_ []byte, n int) { readClock(n * readings) }
}

// The next three functions add to one shared word. They are written out because
// a loop would cost as much as an add.

func addOnly(_ []byte, n int) {
	for range n {
		addSink.Add(1)
	}
}

func clockAndAdd(_ []byte, n int) {
	for range n {
		addSink.Add(int64(time.Since(base)))
	}
}

func clockAndAddTwice(_ []byte, n int) {
	for range n {
		addSink.Add(int64(time.Since(base)))
		addSink.Add(int64(time.Since(base)))
	}
}

type finished []byte

func (f finished) MarshalJSON() ([]byte, error) { return f, nil }

// jsonPass is encoding/json's own work for a Marshaler whose output is ready.
func jsonPass(output []byte, n int) {
	for range n {
		must(json.Marshal(finished(output)))
	}
}

func outputClone(readings int) floor {
	return func(output []byte, n int) {
		for range n {
			readClock(readings)
			bytesSink(bytes.Clone(output))
		}
	}
}

func outputCopy(readings int) floor {
	return func(output []byte, n int) {
		buf := make([]byte, 0, 2*len(output))
		for range n {
			readClock(readings)
			bytesSink(append(buf, output...))
		}
	}
}

// onePass reads the numbers once and makes the map of a histogram's twelve
// values.
func onePass(_ []byte, n int) {
	numbers := Values(1, 1000)
	keys := strings.Fields("count min max mean stddev median 75% 90% 95% 99% 99.9% 99.99%")
	for range n {
		var sum, least, most int64
		for _, v := range numbers {
			sum, least, most = sum+v, min(least, v), max(most, v)
		}
		nanoseconds = sum + least + most
		makeMap(keys)
	}
}
