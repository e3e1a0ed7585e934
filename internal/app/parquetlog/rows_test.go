// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package parquetlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/regometer/regometer/decisionlog"
	"github.com/regometer/regometer/rollup"
)

// rowsOf writes events and reads their rows back. keys holds the key of each
// metric.
func rowsOf(t *testing.T, keys []string, events ...*decisionlog.Event) []row {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	r := w.Rows(func(metric int32) string { return keys[metric] })
	for _, e := range events {
		if err := r.Add(e); err != nil {
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

func TestTimes(t *testing.T) {
	t.Parallel()
	for ns, us := range map[int64]int64{
		0: 0, 1: 0, 999: 0, 1000: 1, -1: -1, -1000: -1, -1001: -2,
		math.MaxInt64: math.MaxInt64 / 1000, math.MinInt64 + 1: math.MinInt64/1000 - 1,
	} {
		got := rowsOf(t, nil, &decisionlog.Event{Time: ns})[0].numbers
		if want := map[string]int64{"time": us}; !reflect.DeepEqual(got, want) {
			t.Errorf("%d ns: got %v, want %v", ns, got, want)
		}
	}
	if got := rowsOf(t, nil, &decisionlog.Event{Time: decisionlog.NoTime})[0]; len(got.numbers) > 0 {
		t.Errorf("no time: got %v", got.numbers)
	}
}

func TestNothing(t *testing.T) {
	t.Parallel()
	want := newRow()
	want.texts["path"], want.texts["outcome"] = "", "result"
	e := &decisionlog.Event{Time: decisionlog.NoTime, Outcome: rollup.OtherResult}
	if got := rowsOf(t, nil, e)[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Metrics go to the column of their stage or into a map. A map adds up metrics
// that share a name.
func TestMetrics(t *testing.T) {
	t.Parallel()
	keys := []string{
		"timer_rego_query_eval_ns", "timer_custom_ns", "counter_hits", "timer_other_ns", "timer_other_ns", "counter_other",
		"histogram_x", "timer_eval_op_plug_ns", "timer_none", "counter_rego_query_eval",
	}
	measures := func(values ...int64) (m []decisionlog.Measure) {
		for i, v := range values {
			if v >= 0 {
				m = append(m, decisionlog.Measure{Metric: int32(i), Value: v})
			}
		}
		return m
	}
	const most = math.MaxInt64
	got := rowsOf(t, keys,
		&decisionlog.Event{Measures: measures(1, 2, 3, 4, 5, 6, 7, 8, -1, 9)},
		&decisionlog.Event{Measures: measures(-1, -1, -1, most-1, 2, 0)},
		&decisionlog.Event{Measures: measures(0, 0, 0, 0)},
		&decisionlog.Event{},
		&decisionlog.Event{Measures: measures(most, 1, -1, -1, 7, -1, -1, -1, 5)},
	)
	want := []row{
		{nil, map[string]int64{"rego_query_eval_ns": 1}, nil,
			map[string]int64{"custom": 2, "other": 9, "eval_op_plug": 8}, map[string]int64{"hits": 3, "other": 6, "rego_query_eval": 9}},
		{nil, map[string]int64{}, nil, map[string]int64{"other": most}, map[string]int64{"other": 0}},
		{nil, map[string]int64{"rego_query_eval_ns": 0}, nil, map[string]int64{"custom": 0, "other": 0}, map[string]int64{"hits": 0}},
		{nil, map[string]int64{}, nil, map[string]int64{}, map[string]int64{}},
		{nil, map[string]int64{"rego_query_eval_ns": most}, nil, map[string]int64{"custom": 1, "other": 7}, map[string]int64{}},
	}
	for i := range got {
		delete(got[i].numbers, "time")
		got[i].texts, got[i].labels = nil, nil
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("row %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

// The key of a number may change.
func TestKeyChanges(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := NewWriter(&b)
	key := "counter_a"
	r := w.Rows(func(int32) string { return key })
	e := &decisionlog.Event{Measures: []decisionlog.Measure{{Metric: 0, Value: 1}}}
	for _, key = range []string{"counter_a", "counter_other", "counter_a"} {
		if err := r.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rows, _ := readRows(t, b.Bytes())
	for i, want := range []string{"a", "other", "a"} {
		if got := rows[i].counters; !reflect.DeepEqual(got, map[string]int64{want: 1}) {
			t.Errorf("row %d: got %v, want %s", i, got, want)
		}
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		`{}`:        {},
		`{"a":"b"}`: {"a": "b"},
		`{"a":1,"b":null,"c":{"d":"e"},"f":["g"]}`: {},
		`{"a":"b","c":"d","a":"e"}`:                {"a": "e", "c": "d"},
		`{"a":"b","a":1}`:                          {},
		`{"a":1,"a":"b"}`:                          {"a": "b"},
		`{"\u0061\"":"\ud83d\ude00","":""}`:        {`a"`: "😀", "": ""},
	} {
		for i, got := range rowsOf(t, nil, &decisionlog.Event{Labels: []byte(text)}, &decisionlog.Event{Labels: []byte(text)}) {
			if !reflect.DeepEqual(got.labels, want) {
				t.Errorf("%s, row %d: got %v, want %v", text, i, got.labels, want)
			}
		}
	}
}

// A row is bounded and valid UTF-8, however large its event is.
func TestLimits(t *testing.T) {
	t.Parallel()
	labels, many := map[string]string{}, maxEntries+10
	keys := []string{}
	e := &decisionlog.Event{Path: []byte(strings.Repeat("€", maxText)), RequestedBy: []byte("a\xffb")}
	for i := range many {
		labels[fmt.Sprint(i)] = "x"
		keys = append(keys, fmt.Sprintf("counter_%d", i), fmt.Sprintf("timer_%d_ns", i))
		e.Measures = append(e.Measures, decisionlog.Measure{Metric: int32(2 * i), Value: 1}, decisionlog.Measure{Metric: int32(2*i + 1), Value: 2})
	}
	e.Measures = append(e.Measures, e.Measures[2*many-1]) // of a timer that is left out
	var err error
	if e.Labels, err = json.Marshal(labels); err != nil {
		t.Fatal(err)
	}
	for _, r := range rowsOf(t, keys, e, e) {
		if len(r.labels) != maxEntries || len(r.timers) != maxEntries || len(r.counters) != maxEntries {
			t.Errorf("%d labels, %d timers, %d counters", len(r.labels), len(r.timers), len(r.counters))
		}
		if path := r.texts["path"]; !strings.HasPrefix(string(e.Path), path) || len(path) <= maxText-3 || len(path) > maxText || !utf8.ValidString(path) {
			t.Errorf("a path of %d bytes", len(path))
		}
		if got := r.texts["requested_by"]; got != "a\uFFFDb" {
			t.Errorf("requested_by %q", got)
		}
	}
}

func TestLimited(t *testing.T) {
	t.Parallel()
	x := strings.Repeat("x", maxText-3)
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"a€", "a€"}, {x + "abc", x + "abc"}, {x + "abcd", x + "abc"}, {x + "€", x + "€"}, {x + "a€", x + "a"},
		{x + "ab€", x + "ab"}, {x + "abc€", x + "abc"}, {x + "😀", x}, {x + "\xff\xffab", x + "\uFFFDa"}, {"\x80\x80", "\uFFFD"},
		{x + "\x80\x80\x80\x80", x + "\uFFFD"},
	} {
		if got := string(limited([]byte(c.text))); got != c.want {
			t.Errorf("%q: got %q, want %q", tail(c.text), tail(got), tail(c.want))
		}
	}
}

func tail(s string) string { return s[max(0, len(s)-10):] }
