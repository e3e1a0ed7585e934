// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	opa "github.com/open-policy-agent/opa/v1/metrics"
	"github.com/regometer/regometer/metrics"
)

// heapInUse returns the bytes of the objects that are reachable.
func heapInUse() int64 {
	// What a sync.Pool holds is dropped by the second collection.
	for range 3 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestHistogramMemory: histograms of any number of values, marshalled, take no
// more memory than OPA's; if those grow with their values, from 100 on, since
// ours keep their JSON text.
func TestHistogramMemory(t *testing.T) {
	const histograms = 100
	type collection interface {
		json.Marshaler
		All() map[string]any
	}
	var names []string
	for i := range histograms {
		names = append(names, "memory "+strconv.Itoa(i))
	}
	// measure returns the bytes that a histogram takes.
	measure := func(values int, newCollection func() (collection, func(name string) func(int64))) int64 {
		rng := rand.New(rand.NewPCG(1, uint64(values)))
		before := heapInUse()
		m, histogram := newCollection()
		for range values {
			for _, name := range names {
				histogram(name)(rng.Int64N(1e12))
			}
		}
		for range 3 {
			if _, err := m.MarshalJSON(); err != nil {
				t.Fatal(err)
			}
			m.All()
		}
		grown := heapInUse() - before
		runtime.KeepAlive(m)
		return grown / histograms
	}
	ours := func() (collection, func(string) func(int64)) {
		m := metrics.New()
		return m, func(name string) func(int64) { return m.Histogram(name).Update }
	}
	opas := func() (collection, func(string) func(int64)) {
		m := opa.New()
		return m, func(name string) func(int64) { return m.Histogram(name).Update }
	}
	opaGrows := mended(t, "growing-reservoir")
	measure(1, ours) // names are remembered from here on
	for _, values := range []int{1, 10, 100, 500, 1028, 5000} {
		o, p := measure(values, ours), measure(values, opas)
		t.Logf("%d values: %d bytes, OPA's %d", values, o, p)
		if o > p && !(opaGrows && values < 100) {
			t.Errorf("a histogram of %d values takes %d bytes, OPA's %d", values, o, p)
		}
	}
}
