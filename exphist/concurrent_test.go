// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// A histogram that grows, is reduced, is merged into and is read meanwhile
// counts each value once, and each snapshot is consistent.
func TestRecordConcurrently(t *testing.T) {
	t.Parallel()
	for _, maxBuckets := range []int{30, 640, 10_000} {
		l := latencies()
		l.MaxBuckets = maxBuckets
		want, h := newModel(l), newHistogram(l)
		var recorders, reader sync.WaitGroup
		var done atomic.Bool
		for g := range uint64(4) {
			r := rand.New(rand.NewPCG(uint64(maxBuckets), g))
			values := []int64{0, 0, -1, -1}
			for range 5000 {
				n := logNormal(r, 1)
				if r.IntN(50) == 0 {
					n = int64(r.Uint64() >> (2 + r.IntN(50)))
				}
				values = append(values, n|1) // so that each snapshot of an odd number of values has an odd sum
			}
			want = want.merge(newModel(l, values...))
			recorders.Go(func() {
				for _, n := range values[:4000] {
					h.Record(n)
				}
				if err := h.Merge(snapshot(newHistogram(l, values[4000:]...))); err != nil {
					t.Error(err)
				}
			})
		}
		reader.Go(func() {
			var before, s Snapshot
			for !done.Load() {
				before, s = s, before
				h.Snapshot(&s)
				checkConsistent(t, &s)
				if s.count < before.count || s.negatives < before.negatives {
					t.Errorf("%d values and %d negative ones after %d and %d", s.count, s.negatives, before.count, before.negatives)
				}
			}
		})
		recorders.Wait()
		done.Store(true)
		reader.Wait()
		mustEqual(t, fmt.Sprintf("%+v", l), snapshot(h), want.snapshot())
	}
}

// checkConsistent checks what holds for any snapshot of odd values.
func checkConsistent(t *testing.T, s *Snapshot) {
	t.Helper()
	var restored Snapshot
	if err := restored.Restore(content(s)); err != nil || restored.count != s.count {
		t.Errorf("count %d, that of the buckets %d: %v", s.count, restored.count, err)
	}
	if (s.count-s.zeros)%2 != s.sum.lo%2 {
		t.Errorf("count %d and sum %v are of different recordings", s.count, s.sum)
	}
	last := s.zeros
	for i, bound := range s.layout.Bounds {
		least, most := s.zeros, s.zeros
		for k, count := range s.counts {
			low, high := s.layout.limits(s.first + k)
			if high <= bound {
				least += count
			}
			if low <= bound {
				most += count
			}
		}
		n := s.atMost[i]
		if n < max(least, last) || n > most {
			t.Errorf("%d values are at most %d, but by the buckets %d to %d, and %d by the bound before", n, bound, least, most, last)
		}
		last = n
	}
}
