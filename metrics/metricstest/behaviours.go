// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/regometer/regometer/metrics"
)

// behaviours are the rules for a collection that records. In every row,
// script.check also tests these rules:
//
//   - A look-up makes a metric appear. Its key is "timer_<name>_ns",
//     "histogram_<name>" or "counter_<name>", for any bytes in the name.
//   - In All and from Value, a timer is an int64, a counter a uint64 and a
//     histogram a map[string]any. Timers returns the timers of All. Neither All
//     nor Timers returns nil.
//   - MarshalJSON returns the bytes that encoding/json returns for All.
//   - String is "key:value" for each metric, with the value as %v prints it,
//     sorted by key and joined by a space.
var behaviours = []behaviour{
	{
		name: "info",
		rule: `Info returns a struct with a non-empty Name, the same for all collections. Its JSON is {"name": ...}.`,
		check: func(s *script) {
			info := s.info()
			b, err := json.Marshal(info)
			var decoded map[string]string
			if err == nil {
				err = json.Unmarshal(b, &decoded)
			}
			if err != nil || len(decoded) != 1 || decoded["name"] == "" {
				s.Errorf("Info is %#v, as JSON %s (error %v)", info, b, err)
			}
			if again := s.another().info(); !reflect.DeepEqual(again, info) {
				s.Errorf("Info is %#v, and for another collection %#v", info, again)
			}
		},
	},
	{
		name: "handles",
		rule: "The same name gives the same handle, compared with ==. Another name, kind or collection gives another metric.",
		check: func(s *script) {
			other := s.another()
			for _, name := range oddNames {
				for _, kind := range kinds {
					if s.metric(kind, name).handle == other.metric(kind, name).handle {
						s.Errorf("%v %.50q has the same handle in two collections", kind, name)
					}
				}
			}
			s.check()
		},
	},
	{
		name: "ownership",
		rule: "The caller owns the results of All, Timers, Value and MarshalJSON, and nested maps too. Changing a result does not change later results, and later updates do not change it.",
		check: func(s *script) {
			s.timer("t")
			s.counter("c").add(300)
			s.histogram("h").update(5)
			first := s.All()
			text := fmt.Sprint(first)
			for range 3 {
				all := s.All()
				clear(all["histogram_h"].(map[string]any))
				clear(all)
				all["counter_new"] = 1
				clear(s.Histogram("h").Value().(map[string]any))
				if tm, ok := s.unwrap().(metrics.TimerMetrics); ok {
					clear(tm.Timers())
				}
				for _, b := range s.jsonTexts() {
					clear(b)
				}
				s.check()
				s.counter("c").add(300)
				s.histogram("h").update(2)
			}
			s.clear()
			if got := fmt.Sprint(first); got != text {
				s.Errorf("a map from All changed from %s to %s", text, got)
			}
		},
	},
	{
		name: "clear",
		rule: "A new collection is empty. Clear removes every metric. The same name then gives a new handle, at zero and not running. Older handles still work, but the collection does not report them.",
		check: func(s *script) {
			s.clear()
			for range 3 {
				s.check()
				timer, counter, histogram := s.timer("x"), s.counter("x"), s.histogram("x")
				timer.start()
				counter.add(2)
				histogram.update(10)
				s.clear()
				sleep(5)
				timer.stop()
				counter.add(1)
				histogram.update(20)
				s.check()
				s.timer("x").stop()
				s.counter("x").add(1)
				counter.add(1)
				s.check()
				s.clear()
			}
		},
	},
	{
		name: "timer",
		rule: "Stop adds the time since Start to the timer's time, and returns it, in nanoseconds. Start restarts a running timer and drops the time since the earlier Start. A running timer reports only the time that earlier calls of Stop have added. Stop of a timer that is not running returns 0.",
		check: func(s *script) {
			timer := s.timer("t")
			timer.stop()
			for _, ns := range []int64{1, 255, 256, 1000, 0, 1_000_000_007, int64(400 * 24 * time.Hour)} {
				timer.start()
				sleep(7)
				s.check()
				timer.start()
				sleep(ns)
				s.check()
				timer.stop()
				sleep(3)
				timer.stop()
				s.check()
			}
		},
	},
	{
		name: "counter",
		rule: "Incr adds one and Add adds n. The count wraps, as uint64 does.",
		check: func(s *script) {
			for _, n := range []uint64{0, 1, 1, 254, 255, 256, 1 << 32, math.MaxInt64, math.MaxUint64, 1, math.MaxUint64} {
				s.counter("c").add(n)
				s.check()
			}
		},
	},
	{
		name: "histogram",
		rule: "A summary of up to 1,028 values is exact, for any order of arrival and any number of calls of Value. Percentile p of n sorted values is at position p*(n+1), interpolated and clamped to the ends. The standard deviation is the population's. A histogram without values has zeros.",
		check: func(s *script) {
			for i, tc := range summaryCases {
				h := s.histogram(strconv.Itoa(i))
				h.update(tc.values...)
				checkSummary(s.T, h.handle.(metrics.Histogram).Value(), tc.want, tc.values)
			}
			for i, values := range extremeValues {
				s.histogram(fmt.Sprint("extreme ", i)).update(values...)
			}
			for name, values := range valueSequences() {
				for _, part := range [][]int64{values[:1], values[1:2], values[2:20], values[20:600], values[600 : sampleSize-1], values[sampleSize-1:]} {
					s.histogram(name).update(part...)
				}
			}
			s.check()
		},
	},
	{
		name: "sample",
		rule: "A summary of more values describes a sample of 1,028 of them. A value's weight falls by a factor of e in 1/0.015 seconds.",
		check: func(s *script) {
			for _, tc := range []struct {
				zeros       int
				wait        time.Duration
				ones        int
				least, most float64 // share of ones in the sample, with ten standard deviations around it
			}{
				{3 * sampleSize, 0, sampleSize, 0.14, 0.36},
				{20 * sampleSize, time.Second * 1000 / 15, 20 * sampleSize, 0.6, 0.85},
				{sampleSize, time.Hour, 2 * sampleSize, 1, 1},
			} {
				h := s.another().Histogram("h")
				for range tc.zeros {
					h.Update(0)
				}
				time.Sleep(tc.wait)
				for range tc.ones {
					h.Update(1)
				}
				mean, _ := h.Value().(map[string]any)["mean"].(float64)
				if mean < tc.least || mean > tc.most {
					s.Errorf("after %d zeros, %v and %d ones, the mean of the sample is %.2f, want %.2f to %.2f", tc.zeros, tc.wait, tc.ones, mean, tc.least, tc.most)
				}
			}
		},
	},
	{
		name: "json",
		rule: "Keys are sorted by their bytes. Keys and numbers are written as encoding/json writes them.",
		check: func(s *script) {
			for i, name := range append(everyByte(), oddNames...) {
				s.timer(name)
				s.counter(name).add(uint64(i))
				s.histogram(name).update(int64(i))
			}
			s.check()
			s.check()
			s.check() // from a cache, if there is one
		},
	},
}

// oddNames are names that need care in a key, in its order or in JSON.
var oddNames = []string{
	metrics.RegoQueryEval, "", " ", "a", "a b", "_ns", "a_ns", "a_", "a!", "a~", "ab", "A", "ns",
	"timer_a_ns", "counter_a", "histogram_a", "%d%s", "0",
	"{", "}", ":", ",", `"`, `\`, `\u0041`, "'", `a"count`,
	"<script>&amp;</script>", "<", ">", "&",
	"\x00", "\x01\x1f", "\b\f\n\r\t", "\x7f",
	"\u2028", "\u2029", "a\u2028b\u2029c", "\u0085", "\ufeff", "\ufffd",
	"\xff", "\xfe", "a\xffb", "a\xfeb", "\xc3\x28", "\xe2\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
	"é", "e\u0301", "世界", "😀", "\U0010ffff",
	strings.Repeat("long ", 1000),
}

// everyByte returns 256 names, each with a different byte in the middle.
func everyByte() []string {
	names := make([]string, 256)
	for i := range names {
		names[i] = "x" + string([]byte{byte(i)}) + "y"
	}
	return names
}

func sleep(ns int64) { time.Sleep(time.Duration(ns)) }
