// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

var textBehaviours = []behaviour{
	{
		name: "json",
		rule: "MarshalJSON gives the bytes that encoding/json gives for All: keys sorted byte-wise, the same escaping and number texts.",
		check: func(t *testing.T, newCollection func() collection) {
			for name, fill := range fillings {
				t.Run(name, func(t *testing.T) {
					m := newCollection()
					fill(m)
					checkJSON(t, m)
					checkJSON(t, m) // from a cache, if there is one
				})
			}
		},
	},
	{
		name: "json updates",
		rule: "Every call of MarshalJSON sees every update before it.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			for i := range 300 {
				m.Histogram(oddNames[i%7]).Update(int64(i * i))
				checkJSON(t, m)
				m.Counter(oddNames[i%11]).Add(uint64(i % 3))
				checkJSON(t, m)
				m.Timer(oddNames[i%len(oddNames)]).Start()
				checkJSON(t, m)
				m.Timer(oddNames[i%len(oddNames)]).Stop()
				checkJSON(t, m)
				if i%100 == 99 {
					m.Clear()
				}
			}
		},
	},
	{
		name: "string",
		rule: `String is "key:value" for each metric, the value by %v, sorted by key, joined by one space.`,
		check: func(t *testing.T, newCollection func() collection) {
			if _, ok := newCollection().unwrap().(fmt.Stringer); !ok {
				t.Skip("no String method")
			}
			for name, fill := range fillings {
				t.Run(name, func(t *testing.T) {
					m := newCollection()
					fill(m)
					checkString(t, m)
				})
			}
			m := newCollection()
			m.Timer("t")
			m.Counter("c").Add(2)
			m.Histogram("h").Update(3)
			const want = "counter_c:2 " +
				"histogram_h:map[75%:3 90%:3 95%:3 99%:3 99.9%:3 99.99%:3 count:1 max:3 mean:3 median:3 min:3 stddev:0] " +
				"timer_t_ns:0"
			if got := m.unwrap().(fmt.Stringer).String(); got != want {
				t.Errorf("String is\n%s\nwant\n%s", got, want)
			}
		},
	},
}

// logBehaviours hold for a collection that records nothing, too.
var logBehaviours = []behaviour{
	{
		name: "log",
		rule: "In log/slog's JSON a collection is its JSON, and in its text what fmt prints.",
		check: func(t *testing.T, newCollection func() collection) {
			for name, fill := range fillings {
				t.Run(name, func(t *testing.T) {
					m := newCollection()
					fill(m)
					for what, newHandler := range map[string]func(w io.Writer) slog.Handler{
						"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
						"json": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
					} {
						line := func(v any) []byte {
							var b bytes.Buffer
							r := slog.NewRecord(time.Time{}, slog.LevelInfo, "decision", 0)
							r.Add("metrics", v)
							if err := newHandler(&b).Handle(t.Context(), r); err != nil {
								t.Fatal(err)
							}
							return b.Bytes()
						}
						var want any = json.RawMessage(marshal(t, m))
						if what == "text" {
							want = fmt.Sprintf("%+v", m.unwrap())
						}
						compareText(t, what, line(m.unwrap()), line(want))
					}
				})
			}
		},
	},
	{
		name: "interfaces",
		rule: "A collection is a json.Marshaler, and it or a handle implements none of the other interfaces by which a value says how it is encoded.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			for what, v := range map[string]any{
				"collection": m.unwrap(), "timer": m.Timer("a"), "histogram": m.Histogram("a"), "counter": m.Counter("a"),
			} {
				var names []string
				is := func(name string, ok bool) {
					if ok {
						names = append(names, name)
					}
				}
				_, ok := v.(error)
				is("error", ok)
				_, ok = v.(fmt.Formatter)
				is("fmt.Formatter", ok)
				_, ok = v.(fmt.GoStringer)
				is("fmt.GoStringer", ok)
				_, ok = v.(slog.LogValuer)
				is("slog.LogValuer", ok)
				_, ok = v.(encoding.TextMarshaler)
				is("encoding.TextMarshaler", ok)
				_, ok = v.(encoding.BinaryMarshaler)
				is("encoding.BinaryMarshaler", ok)
				if what != "collection" {
					_, ok = v.(fmt.Stringer)
					is("fmt.Stringer", ok)
					_, ok = v.(json.Marshaler)
					is("json.Marshaler", ok)
				}
				if len(names) > 0 {
					t.Errorf("a %s implements %q", what, names)
				}
			}
		},
	},
}

// fillings put metrics into a collection.
var fillings = map[string]func(m collection){
	"none": func(collection) {},
	"few": func(m collection) {
		m.Timer("rego_query_eval")
		m.Counter("server_query_cache_hit").Incr()
	},
	"odd names": func(m collection) {
		for i, name := range slices.Concat(oddNames, everyByte()) {
			m.Timer(name)
			m.Counter(name).Add(uint64(i))
			m.Histogram(name).Update(int64(i))
		}
	},
	"long name": func(m collection) {
		m.Timer(strings.Repeat("\u2028<", 100_000))
	},
	"counters": func(m collection) {
		for i := range 64 {
			m.Counter(fmt.Sprint("a", i)).Add(1 << i)
			m.Counter(fmt.Sprint("b", i)).Add(1<<i - 1)
		}
		for v := uint64(1); v < math.MaxUint64/10; v *= 10 {
			m.Counter(fmt.Sprint("c", v)).Add(v)
			m.Counter(fmt.Sprint("d", v)).Add(v - 1)
		}
	},
	"histograms": func(m collection) {
		m.Histogram("empty")
		for name, values := range valueSequences() {
			for _, n := range []int{1, 2, 3, 7, 100, sampleSize} {
				h := m.Histogram(fmt.Sprint(name, n))
				for _, v := range values[:n] {
					h.Update(v)
				}
			}
		}
		for i, values := range extremeValues {
			h := m.Histogram(fmt.Sprint("extreme", i))
			for _, v := range values {
				h.Update(v)
			}
		}
	},
	"full histograms": func(m collection) {
		for i := range int64(10) {
			h := m.Histogram(fmt.Sprint("full", i))
			for j := range 1000 + i*100 {
				h.Update(j * j << i)
			}
		}
	},
}

func checkJSON(t *testing.T, m collection) {
	t.Helper()
	want, err := json.Marshal(m.All())
	if err != nil {
		t.Fatalf("json.Marshal(All()): %v", err)
	}
	compareText(t, "MarshalJSON", marshal(t, m), want)
	got, err := json.Marshal(m.unwrap())
	if err != nil {
		t.Fatalf("json.Marshal: %v", err)
	}
	compareText(t, "json.Marshal", got, want)
}

func checkString(t *testing.T, m collection) {
	t.Helper()
	all := m.All()
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%s:%v", key, all[key]))
	}
	got := m.unwrap().(fmt.Stringer).String()
	compareText(t, "String", []byte(got), []byte(strings.Join(parts, " ")))
}

// compareText shows where two texts begin to differ.
func compareText(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	from := max(0, i-60)
	t.Errorf("%s differs from byte %d of %d on:\n%q\nwant\n%q", what, i, len(want),
		limited(string(got[from:])), limited(string(want[from:])))
}
