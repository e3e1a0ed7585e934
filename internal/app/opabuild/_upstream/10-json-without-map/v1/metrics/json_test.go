// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

func TestMetricsMarshalJSON(t *testing.T) {
	check := func(note string, m Metrics) {
		t.Helper()
		got, err := m.MarshalJSON()
		if err != nil {
			t.Fatalf("%s: %v", note, err)
		}
		exp, err := json.Marshal(m.All())
		if err != nil {
			t.Fatalf("%s: %v", note, err)
		}
		if !bytes.Equal(got, exp) {
			t.Fatalf("%s: expected %s, got %s", note, exp, got)
		}
	}

	m := New()
	check("empty", m)
	names := []string{"", "foo", "foo_bar", "foo-bar", "foo bar", "foo\"bar", "foo\\bar", "foo\nbar", "foo<", "foo>", "foo&", "f\xffoo", "f\u2028oo", "föö", RegoQueryEval, ServerQueryCacheHit}
	for _, name := range names {
		m.Counter(name).Add(math.MaxUint64)
		m.Timer(name).Start()
		m.Timer(name).Stop()
		m.Histogram(name)
		check("name "+name, m)
	}

	for _, values := range [][]int64{
		{0}, {-1}, {1, 2}, {math.MaxInt64}, {math.MinInt64}, {math.MaxInt64, math.MinInt64},
		{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - 1000}, {1 << 53, 1<<53 + 1, 1<<53 + 2},
		{-9, -9, -9, -9, -9, -9, -9, -9, -9, 1}, // whose 90 % is 4e-15
	} {
		m := New()
		for _, v := range values {
			m.Histogram("foo").Update(v)
			check("values", m)
		}
	}
	for range 1000 {
		few := New()
		for range 10 {
			few.Histogram("foo").Update(rand.Int64N(20) - 10)
		}
		check("small values", few)
	}
	h := m.Histogram("random")
	for range 3000 {
		h.Update(int64(rand.Uint64()) >> rand.IntN(64))
		check("random values", m)
	}
}

func TestMetricsMarshalJSONAllocs(t *testing.T) {
	m := New()
	for _, name := range []string{ServerHandler, RegoInputParse, RegoQueryParse, RegoQueryEval} {
		m.Timer(name).Start()
		m.Timer(name).Stop()
	}
	m.Counter(ServerQueryCacheHit).Add(1000)
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := m.MarshalJSON(); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 2 {
		t.Errorf("Expected two allocations, got %v", allocs)
	}
}
