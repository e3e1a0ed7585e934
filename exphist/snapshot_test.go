// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSum(t *testing.T) {
	t.Parallel()
	h := newHistogram(t, DefaultLayout(Nanosecond), math.MaxInt64, math.MaxInt64, math.MaxInt64, 0, -1, math.MinInt64)
	s := snapshot(h)
	if hi, lo := s.Sum(); hi != 1 || lo != math.MaxInt64-2 { // 3·(2^63−1) = 2^64 + 2^63 − 3
		t.Errorf("sum is %d·2^64 + %d, want 2^64 + 2^63 − 3", hi, lo)
	}
	if got, want := s.ExportedSum(), 3*math.Ldexp(1, 63)/1e9; got != want {
		t.Errorf("exported sum is %v, want %v", got, want)
	}
	if s.Count() != 4 || s.Zeros() != 1 || s.Negatives() != 2 {
		t.Errorf("%d values, %d zeros, %d negatives, want 4, 1, 2", s.Count(), s.Zeros(), s.Negatives())
	}
	if s.Min() != 0 || s.Max() != math.MaxInt64 {
		t.Errorf("values from %d to %d, want 0 to %d", s.Min(), s.Max(), int64(math.MaxInt64))
	}
	var empty Snapshot
	if got := empty.ExportedSum(); got != 0 {
		t.Errorf("exported sum of nothing is %v", got)
	}
}

// A sum cannot overflow before the count does: both are modulo their size.
func TestSumOfAsManyAsCanBeCounted(t *testing.T) {
	t.Parallel()
	s := snapshot(newHistogram(t, DefaultLayout(Integer), math.MaxInt64))
	for range 63 {
		mustMerge(t, s, s)
	}
	hi, lo := s.Sum()
	if s.Count() != 1<<63 || hi != 1<<62-1 || lo != 1<<63 { // 2^63·(2^63−1) = 2^126 − 2^63
		t.Errorf("count %d, sum %d·2^64 + %d", s.Count(), hi, lo)
	}
	mustMerge(t, s, s)
	if s.Count() != 0 {
		t.Errorf("count is %d after 2^64 values, want 0", s.Count())
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 5))
	for range 50 {
		values := randomValues(r, 100)
		s := snapshot(newHistogram(t, randomLayout(r), values...))
		end := int64(0)
		total := s.Zeros()
		for b := range s.All() {
			var count uint64
			for _, n := range values {
				if n >= b.Low && n <= b.High {
					count++
				}
			}
			if b.Low <= end || b.High < b.Low || b.Count != count {
				t.Fatalf("%+v holds %d values, the bucket before ends at %d", b, count, end)
			}
			end = b.High
			total += b.Count
		}
		if total != s.Count() {
			t.Fatalf("the buckets hold %d, count is %d", total, s.Count())
		}
		for range s.All() {
			break // stopping early is allowed
		}
	}
}
