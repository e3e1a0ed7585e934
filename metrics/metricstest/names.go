// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/regometer/regometer/metrics"
)

// oddNames are names that need care in a key, in its order or in JSON.
var oddNames = []string{
	"", " ", "a", "a b", "_ns", "a_ns", "a_", "a!", "a~", "ab", "A", "ns",
	"timer_a_ns", "counter_a", "histogram_a", "%d%s", "0",
	"{", "}", ":", ",", `"`, `\`, `\u0041`, "'",
	"<script>&amp;</script>", "<", ">", "&",
	"\x00", "\x01\x1f", "\b\f\n\r\t", "\x7f",
	"\u2028", "\u2029", "a\u2028b\u2029c", "\u0085", "\ufeff", "\ufffd",
	"\xff", "\xfe", "a\xffb", "a\xfeb", "\xc3\x28", "\xe2\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
	"é", "e\u0301", "世界", "😀", "\U0010ffff",
	strings.Repeat("long ", 1000),
}

// everyByte returns 256 names, one for each byte, in the middle of a name.
func everyByte() []string {
	names := make([]string, 256)
	for i := range names {
		names[i] = "x" + string([]byte{byte(i)}) + "y"
	}
	return names
}

var nameBehaviours = []behaviour{
	{
		name: "info",
		rule: `Info returns a struct with a non-empty Name, the same for all collections, whose JSON is {"name": ...}.`,
		check: func(t *testing.T, newCollection func() collection) {
			info := newCollection().info()
			b, err := json.Marshal(info)
			var decoded map[string]string
			if err == nil {
				err = json.Unmarshal(b, &decoded)
			}
			if err != nil || len(decoded) != 1 || decoded["name"] == "" {
				t.Errorf("Info() = %#v, as JSON %s (error %v)", info, b, err)
			}
			if again := newCollection().info(); !reflect.DeepEqual(again, info) {
				t.Errorf("Info() = %#v, of another collection %#v", info, again)
			}
		},
	},
	{
		name: "empty",
		rule: "All of a new collection is an empty map, never nil, and its JSON is {}.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			checkEmpty(t, m)
		},
	},
	{
		name: "keys",
		rule: `A look-up is what makes a metric appear, under the key "timer_<name>_ns", "histogram_<name>" or "counter_<name>", whatever bytes the name has.`,
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			var want []string
			for _, name := range slices.Concat(oddNames, everyByte()) {
				m.Timer(name)
				m.Histogram(name)
				m.Counter(name)
				want = append(want, "timer_"+name+"_ns", "histogram_"+name, "counter_"+name)
			}
			slices.Sort(want)
			want = slices.Compact(want)
			got := slices.Sorted(maps.Keys(m.All()))
			if !slices.Equal(got, want) {
				t.Errorf("All has the keys\n%.2000q, want\n%.2000q", got, want)
			}
		},
	},
	{
		name: "types",
		rule: "In All, a timer is an int64, a counter a uint64 and a histogram a map[string]any, the same as its Value.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			tm, c, h := m.Timer("t"), m.Counter("c"), m.Histogram("h")
			c.Add(300)
			h.Update(400)
			for key, value := range map[string]any{"timer_t_ns": tm.Value(), "counter_c": c.Value(), "histogram_h": h.Value()} {
				if got := m.All()[key]; !reflect.DeepEqual(got, value) {
					t.Errorf("All()[%q] is %T %v, Value() is %T %v", key, got, got, value, value)
				}
			}
			all := m.All()
			if _, ok := all["timer_t_ns"].(int64); !ok {
				t.Errorf("a timer is a %T, want int64", all["timer_t_ns"])
			}
			if _, ok := all["counter_c"].(uint64); !ok {
				t.Errorf("a counter is a %T, want uint64", all["counter_c"])
			}
			if _, ok := all["histogram_h"].(map[string]any); !ok {
				t.Errorf("a histogram is a %T, want map[string]any", all["histogram_h"])
			}
		},
	},
	{
		name: "handles",
		rule: "The same name gives the same handle, compared with ==; another name, another kind or another collection gives another metric.",
		check: func(t *testing.T, newCollection func() collection) {
			m, other := newCollection(), newCollection()
			for _, name := range oddNames {
				for _, k := range handleKinds {
					h := k.lookUp(m, name)
					if k.lookUp(m, strings.Clone(name)) != h {
						t.Errorf("two look-ups of %s %.50q gave different handles", k.name, name)
					}
					if k.lookUp(other, name) == h {
						t.Errorf("%s %.50q is the same handle in two collections", k.name, name)
					}
				}
			}
			for _, k := range handleKinds {
				seen := map[any]string{}
				for _, name := range oddNames {
					h := k.lookUp(m, name)
					if first, ok := seen[h]; ok && first != name {
						t.Errorf("%s %.50q and %.50q are the same handle", k.name, first, name)
					}
					seen[h] = name
				}
			}
		},
	},
	{
		name: "many names",
		rule: "A collection holds thousands of metrics, each by its own name.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			const n = 5000
			for round := range 2 {
				for i := range n {
					m.Counter("metric " + strconv.Itoa(i)).Add(uint64(i))
					m.Timer("metric " + strconv.Itoa(i))
				}
				all := m.All()
				if len(all) != 2*n {
					t.Fatalf("All has %d entries, want %d", len(all), 2*n)
				}
				for i := range n {
					key := "counter_metric " + strconv.Itoa(i)
					if want := uint64((round + 1) * i); all[key] != want {
						t.Fatalf("%s is %v, want %d", key, all[key], want)
					}
				}
			}
		},
	},
	{
		name: "ownership",
		rule: "What All, Timers, Value and MarshalJSON return belongs to the caller: writing into it, nested maps too, changes no later answer.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			m.Timer("t")
			m.Counter("c").Add(3)
			m.Histogram("h").Update(5)
			want := m.All()
			wantJSON := marshal(t, m)
			for range 3 {
				all := m.All()
				for key, v := range all {
					if h, ok := v.(map[string]any); ok {
						h["count"] = "written by the caller"
						delete(h, "mean")
					}
					delete(all, key)
				}
				all["counter_new"] = 1
				h := m.Histogram("h").Value().(map[string]any)
				clear(h)
				if tm, ok := m.unwrap().(metrics.TimerMetrics); ok {
					clear(tm.Timers())
				}
				b := marshal(t, m)
				for i := range b {
					b[i] = '!'
				}
			}
			if got := m.All(); !reflect.DeepEqual(got, want) {
				t.Errorf("All is %v, want %v", got, want)
			}
			if got := marshal(t, m); string(got) != string(wantJSON) {
				t.Errorf("JSON is %s, want %s", got, wantJSON)
			}
		},
	},
	{
		name: "snapshot",
		rule: "What All returned does not follow later changes.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			c, h := m.Counter("c"), m.Histogram("h")
			c.Add(300)
			h.Update(1)
			all := m.All()
			text := fmt.Sprint(all)
			c.Add(300)
			h.Update(2)
			m.Counter("d")
			m.Clear()
			if got := fmt.Sprint(all); got != text {
				t.Errorf("an earlier All changed from %s to %s", text, got)
			}
		},
	},
	{
		name:        "clear",
		rule:        "Clear removes every metric. The same name then gives a new handle, at zero and not running.",
		virtualTime: true,
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			m.Clear()
			checkEmpty(t, m)
			for range 3 {
				var before []any
				for _, k := range handleKinds {
					before = append(before, k.lookUp(m, "x"))
				}
				m.Timer("x").Start()
				sleep(1)
				m.Counter("x").Add(7)
				m.Histogram("x").Update(7)
				m.Clear()
				checkEmpty(t, m)
				for i, k := range handleKinds {
					if k.lookUp(m, "x") == before[i] {
						t.Errorf("the %s is the same handle after Clear", k.name)
					}
				}
				if d := m.Timer("x").Stop(); d != 0 {
					t.Errorf("a timer looked up after Clear was running for %d ns", d)
				}
				if v := m.Counter("x").Value(); v != uint64(0) {
					t.Errorf("a counter looked up after Clear is %v", v)
				}
				checkSummary(t, m.Histogram("x").Value())
			}
		},
	},
	{
		name:        "old handles",
		rule:        "Handles from before Clear go on working, without being reported.",
		virtualTime: true,
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			tm, c, h := m.Timer("x"), m.Counter("x"), m.Histogram("x")
			tm.Start()
			c.Add(2)
			h.Update(10)
			m.Clear()
			sleep(5)
			if d := tm.Stop(); d != 5 || tm.Int64() != 5 {
				t.Errorf("a timer over a Clear measured %d ns and holds %d, want 5", d, tm.Int64())
			}
			c.Incr()
			if v := c.Value(); v != uint64(3) {
				t.Errorf("a counter over a Clear is %v, want 3", v)
			}
			h.Update(20)
			checkSummary(t, h.Value(), 10, 20)
			checkEmpty(t, m)
			m.Counter("x").Incr()
			c.Incr()
			if all := m.All(); len(all) != 1 || all["counter_x"] != uint64(1) {
				t.Errorf("All is %v, want only counter_x:1", all)
			}
		},
	},
}

// handleKinds looks up a metric of each kind.
var handleKinds = []struct {
	name   string
	lookUp func(m collection, name string) any
}{
	{"timer", func(m collection, name string) any { return m.Timer(name) }},
	{"histogram", func(m collection, name string) any { return m.Histogram(name) }},
	{"counter", func(m collection, name string) any { return m.Counter(name) }},
}

// checkEmpty checks that m reports nothing.
func checkEmpty(t *testing.T, m collection) {
	t.Helper()
	if all := m.All(); all == nil || len(all) != 0 {
		t.Errorf("All is %#v, want an empty map", all)
	}
	if tm, ok := m.unwrap().(metrics.TimerMetrics); ok {
		if timers := tm.Timers(); timers == nil || len(timers) != 0 {
			t.Errorf("Timers is %#v, want an empty map", timers)
		}
	}
	if b := marshal(t, m); string(b) != "{}" {
		t.Errorf("JSON is %s, want {}", b)
	}
	if s, ok := m.unwrap().(fmt.Stringer); ok {
		if text := s.String(); text != "" {
			t.Errorf("String is %q, want nothing", text)
		}
	}
}

// marshal returns m's JSON.
func marshal(t *testing.T, m json.Marshaler) []byte {
	t.Helper()
	b, err := m.MarshalJSON()
	if err != nil {
		t.Fatalf("MarshalJSON: %v", err)
	}
	return b
}
