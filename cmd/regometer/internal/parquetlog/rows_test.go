// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/regometer/regometer/internal/logread"
	"github.com/regometer/regometer/outcome"
)

// rowsOf writes events and reads their rows back. keys holds the key of each
// metric.
func rowsOf(t *testing.T, keys []string, events ...*logread.Event) []row {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	r := w.Rows(func(metric int32) string { return keys[metric] })
	for _, e := range events {
		if err := r.Add(e, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rows, _ := readRows(t, b.Bytes())
	if len(rows) != len(events) {
		t.Fatalf("%d rows, want %d", len(rows), len(events))
	}
	return rows
}

func TestRows(t *testing.T) {
	t.Parallel()
	const most = math.MaxInt64
	keys := []string{
		"timer_rego_query_eval_ns", "timer_custom_ns", "counter_hits", "timer_other_ns", "timer_other_ns", "counter_other",
		"histogram_x", "timer_eval_op_plug_ns", "timer_none", "counter_rego_query_eval",
	}
	at := func(ns int64) *logread.Event { return &logread.Event{Time: ns} }
	labels := func(text string) *logread.Event {
		return &logread.Event{Time: logread.NoTime, Labels: []byte(text)}
	}
	// measures returns an event with a value for each key, unless it is
	// negative.
	measures := func(values ...int64) *logread.Event {
		e := at(logread.NoTime)
		for i, v := range values {
			if v >= 0 {
				e.Measures = append(e.Measures, logread.Measure{Metric: int32(i), Value: v})
			}
		}
		return e
	}
	var events []*logread.Event
	table := []struct {
		event *logread.Event
		want  row // without the outcome and the empty path
	}{
		{at(logread.NoTime), row{}},
		{at(0), row{"time": int64(0)}},
		{at(1), row{"time": int64(0)}},
		{at(999), row{"time": int64(0)}},
		{at(1000), row{"time": int64(1)}},
		{at(-1), row{"time": int64(-1)}},
		{at(-1000), row{"time": int64(-1)}},
		{at(-1001), row{"time": int64(-2)}},
		{at(most), row{"time": int64(most / 1000)}},
		{at(math.MinInt64 + 1), row{"time": int64(math.MinInt64/1000 - 1)}},

		// Metrics go to the column of their stage or into a map. A map adds up
		// metrics that share a name.
		{measures(1, 2, 3, 4, 5, 6, 7, 8, -1, 9), row{
			"rego_query_eval_ns": int64(1), "timers.custom": int64(2), "timers.other": int64(9), "timers.eval_op_plug": int64(8),
			"counters.hits": int64(3), "counters.other": int64(6), "counters.rego_query_eval": int64(9),
		}},
		{measures(-1, -1, -1, most-2, 5, 0), row{"timers.other": int64(most), "counters.other": int64(0)}},
		{measures(0, 0, 0, 0), row{
			"rego_query_eval_ns": int64(0), "timers.custom": int64(0), "timers.other": int64(0), "counters.hits": int64(0),
		}},
		{measures(most, 1, -1, -1, 7, -1, -1, -1, 5), row{
			"rego_query_eval_ns": int64(most), "timers.custom": int64(1), "timers.other": int64(7),
		}},

		{labels(`{}`), row{}},
		{labels(`{"a":"b"}`), row{"labels.a": "b"}},
		{labels(`{"a":1,"b":null,"c":{"d":"e"},"f":["g"]}`), row{}},
		{labels(`{"a":"b","c":"d","a":"e"}`), row{"labels.a": "e", "labels.c": "d"}},
		{labels(`{"a":"b","a":1}`), row{}},
		{labels(`{"a":1,"a":"b"}`), row{"labels.a": "b"}},
		{labels(`{"\u0061\"":"\ud83d\ude00","":""}`), row{`labels.a"`: "😀", "labels.": ""}},
	}
	for _, tc := range table {
		tc.event.Outcome = outcome.Neither
		events = append(events, tc.event)
	}
	rowsOf(t, keys)                                                     // a file without rows
	for i, got := range rowsOf(t, keys, append(events, events...)...) { // twice, because collectors keep memory
		want := table[i%len(table)].want
		want["path"], want["outcome"] = "", "result"
		if !maps.Equal(got, want) {
			t.Errorf("row %d: got %v, want %v", i, got, want)
		}
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := NewWriter(&b)
	r := w.Rows(nil)
	table := []struct {
		keys []string
		want any
	}{{nil, nil}, {[]string{"a"}, "a;"}, {[]string{"a", "b\xff"}, "a;b\uFFFD;"}, {nil, nil}, {[]string{"c", "", "a"}, "c;;a;"}}
	for _, tc := range table {
		var keys [][]byte
		for _, k := range tc.keys {
			keys = append(keys, []byte(k))
		}
		if err := r.Add(&logread.Event{}, keys); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rows, _ := readRows(t, b.Bytes())
	for i, tc := range table {
		if got := rows[i]["groups"]; got != tc.want {
			t.Errorf("row %d: got %v, want %v", i, got, tc.want)
		}
	}
}

// A row is bounded and valid UTF-8, for an event of any size.
func TestLimits(t *testing.T) {
	t.Parallel()
	labels, many := map[string]string{}, maxEntries+10
	keys := []string{}
	e := &logread.Event{Path: []byte(strings.Repeat("€", maxText)), RequestedBy: []byte("a\xffb")}
	for i := range many {
		labels[fmt.Sprint(i)] = "x"
		keys = append(keys, fmt.Sprintf("counter_%d", i), fmt.Sprintf("timer_%d_ns", i))
		e.Measures = append(e.Measures, logread.Measure{Metric: int32(2 * i), Value: 1}, logread.Measure{Metric: int32(2*i + 1), Value: 2})
	}
	e.Measures = append(e.Measures, e.Measures[2*many-1]) // of a timer that is left out
	var err error
	if e.Labels, err = json.Marshal(labels); err != nil {
		t.Fatal(err)
	}
	for _, r := range rowsOf(t, keys, e, e) {
		entries := map[string]int{}
		for column := range r {
			name, _, _ := strings.Cut(column, ".")
			entries[name]++
		}
		if entries["labels"] != maxEntries || entries["timers"] != maxEntries || entries["counters"] != maxEntries {
			t.Errorf("the row has %v entries", entries)
		}
		if path := r["path"].(string); !strings.HasPrefix(string(e.Path), path) || len(path) <= maxText-3 || len(path) > maxText || !utf8.ValidString(path) {
			t.Errorf("the row has a path of %d bytes", len(path))
		}
		if got := r["requested_by"]; got != "a\uFFFDb" {
			t.Errorf("requested_by is %q", got)
		}
	}
}
