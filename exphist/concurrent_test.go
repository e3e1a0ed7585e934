// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// While goroutines record and merge, a snapshot holds whole recordings. In the
// end nothing is lost.
func TestRecordConcurrently(t *testing.T) {
	t.Parallel()
	want, h := newModel(latencies()), newHistogram(latencies())
	var recorders sync.WaitGroup
	for g := range uint64(4) {
		r := rand.New(rand.NewPCG(1, g))
		values := []int64{0, -1}
		for range 5000 {
			values = append(values, int64(r.Uint64()>>(2+r.IntN(50)))|1) // so that an odd number of values has an odd sum
		}
		want = want.merge(newModel(latencies(), values...))
		recorders.Go(func() {
			for _, n := range values[:4000] {
				h.Record(n)
			}
			if err := h.Merge(snapshot(newHistogram(latencies(), values[4000:]...))); err != nil {
				t.Error(err)
			}
		})
	}
	for range 1000 {
		s := snapshot(h)
		var restored Snapshot
		if err := restored.Restore(content(s)); err != nil || restored.count != s.count || (s.count-s.zeros)%2 != s.sum.lo%2 {
			t.Fatalf("count %d, that of the buckets %d, sum %v: %v", s.count, restored.count, s.sum, err)
		}
	}
	recorders.Wait()
	mustEqual(t, "all values", snapshot(h), want.snapshot())
}
