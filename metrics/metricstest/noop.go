// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/regometer/regometer/metrics"
)

var noOpBehaviours = []behaviour{
	{
		name:        "nothing is recorded",
		rule:        "Timers and counters have the value 0, a plain int, histograms nil; Stop returns 0; All is nil.",
		virtualTime: true,
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			for range 2 {
				tm, c, h := m.Timer("x"), m.Counter("x"), m.Histogram("x")
				tm.Start()
				sleep(5)
				if d := tm.Stop(); d != 0 || tm.Int64() != 0 || tm.Value() != 0 {
					t.Errorf("Stop returned %d, Int64 %d, Value %T %v; want zeros, the last an int", d, tm.Int64(), tm.Value(), tm.Value())
				}
				c.Incr()
				c.Add(5)
				if c.Value() != 0 {
					t.Errorf("a counter's Value is %T %v, want int 0", c.Value(), c.Value())
				}
				h.Update(5)
				if h.Value() != nil {
					t.Errorf("a histogram's Value is %v, want nil", h.Value())
				}
				if all := m.All(); all != nil {
					t.Errorf("All is %v, want nil", all)
				}
				m.Clear()
			}
		},
	},
	{
		name: "json",
		rule: `MarshalJSON is {"name": "<built-in no-op>"}, as Info.`,
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			const want = `{"name": "<built-in no-op>"}`
			for range 2 {
				b := marshal(t, m)
				if string(b) != want {
					t.Errorf("MarshalJSON is %s, want %s", b, want)
				}
				for i := range b {
					b[i] = '!' // the caller's own
				}
			}
			b, err := json.Marshal(m.unwrap())
			if want := `{"name":"\u003cbuilt-in no-op\u003e"}`; err != nil || string(b) != want {
				t.Errorf("json.Marshal gives %s (error %v), want %s", b, err, want)
			}
			if b, err := json.Marshal(m.info()); err != nil || string(b) != `{"name":"\u003cbuilt-in no-op\u003e"}` {
				t.Errorf("Info is %#v, as JSON %s (error %v)", m.info(), b, err)
			}
		},
	},
	{
		name: "one instance",
		rule: "All calls return equal collections, and all look-ups equal handles.",
		check: func(t *testing.T, newCollection func() collection) {
			m, other := newCollection(), newCollection()
			if m.unwrap() != other.unwrap() {
				t.Error("two collections differ")
			}
			for _, k := range handleKinds {
				if k.lookUp(m, "a") != k.lookUp(m, "a") {
					t.Errorf("two look-ups of a %s differ", k.name)
				}
			}
		},
	},
	{
		name: "no text",
		rule: "It has no String method, so that it prints as what it is, and no Timers method.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection().unwrap()
			if _, ok := m.(fmt.Stringer); ok {
				t.Error("it is a fmt.Stringer")
			}
			if _, ok := m.(metrics.TimerMetrics); ok {
				t.Error("it has Timers")
			}
		},
	},
	{
		name: "concurrency",
		rule: "Every method may be called from any goroutine.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			inParallel(3, func(int) {
				for range 100 {
					m.Timer("a").Start()
					m.Timer("a").Stop()
					m.Counter("a").Incr()
					m.Histogram("a").Update(1)
					m.All()
					m.Clear()
					if _, err := m.MarshalJSON(); err != nil {
						t.Error(err)
					}
				}
			})
		},
	},
}
