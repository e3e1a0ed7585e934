// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metricstest

import (
	"math"
	"testing"
)

var counterBehaviours = []behaviour{
	{
		name: "counter",
		rule: "Incr adds one and Add adds n. Value is a uint64.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			c := m.Counter("c")
			var want uint64
			check := func() {
				t.Helper()
				if got := c.Value(); got != want {
					t.Errorf("Value is %T %v, want uint64 %d", got, got, want)
				}
				if got := m.All()["counter_c"]; got != want {
					t.Errorf("All reports %T %v, want uint64 %d", got, got, want)
				}
			}
			check()
			c.Incr()
			want++
			check()
			for _, n := range []uint64{0, 1, 254, 255, 256, 1 << 32, math.MaxInt64} {
				c.Add(n)
				want += n
				check()
			}
		},
	},
	{
		name: "counter overflow",
		rule: "A counter wraps around, as uint64 does.",
		check: func(t *testing.T, newCollection func() collection) {
			m := newCollection()
			c := m.Counter("c")
			c.Add(math.MaxUint64)
			if got := c.Value(); got != uint64(math.MaxUint64) {
				t.Errorf("Value is %v, want %d", got, uint64(math.MaxUint64))
			}
			if got, want := string(marshal(t, m)), `{"counter_c":18446744073709551615}`; got != want {
				t.Errorf("JSON is %s, want %s", got, want)
			}
			c.Incr()
			if got := c.Value(); got != uint64(0) {
				t.Errorf("Value is %v after one more, want 0", got)
			}
			c.Add(math.MaxUint64)
			c.Add(math.MaxUint64)
			if got := c.Value(); got != uint64(math.MaxUint64-1) {
				t.Errorf("Value is %v, want %d", got, uint64(math.MaxUint64-1))
			}
		},
	},
}
