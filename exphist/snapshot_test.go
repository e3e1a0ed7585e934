// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestAtMost(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 4))
	for range 100 {
		l, values := randomLayout(r), randomValues(r, 200)
		s := snapshot(newHistogram(t, l, values...))
		for range 50 {
			schema := MinSchema + r.IntN(MaxSchema-MinSchema+1)
			i := int(math.Ldexp(float64(r.IntN(100)-45), schema)) + r.IntN(3)
			bound := Layout{Unit: l.Unit, Schema: schema}.bucket(i).High
			var below, inBuckets uint64 // at most the bound, and those of them in buckets that are
			for _, n := range values {
				if n < 0 || n > bound && bound < math.MaxInt64 {
					continue
				}
				below++
				// The bound of n's bucket against the one asked for, by their exponents.
				if n == 0 || math.Ldexp(float64(s.index(n)), -s.Layout().Schema) <= math.Ldexp(float64(i), -schema) {
					inBuckets++
				}
			}
			count, exact := s.AtMost(schema, i)
			if count != inBuckets {
				t.Fatalf("AtMost(%d, %d) of %+v is %d, want %d", schema, i, s.Layout(), count, inBuckets)
			}
			if exact && count != below {
				t.Fatalf("AtMost(%d, %d) of %+v is %d and exact, but %d are at most %d", schema, i, s.Layout(), count, below, bound)
			}
			if !exact && schema <= s.Layout().Schema {
				t.Fatalf("AtMost(%d, %d) of %+v is not exact", schema, i, s.Layout())
			}
		}
	}
}

func TestAtMostOfFarBounds(t *testing.T) {
	t.Parallel()
	s := snapshot(newHistogram(t, DefaultLayout(Nanosecond), 0, 1, 1000))
	for _, test := range []struct {
		schema, i int
		count     uint64
		exact     bool
	}{
		{-100, math.MaxInt, 3, true},
		{-100, math.MinInt, 1, true},
		{-100, 1, 3, true},
		{0, 0, 3, true},
		{100, math.MaxInt, 1, true}, // 2^(2^63/2^100) s: just above 1 s
	} {
		count, exact := s.AtMost(test.schema, test.i)
		if test.schema == 100 {
			test.count = 3
		}
		if count != test.count || exact != test.exact {
			t.Errorf("AtMost(%d, %d) is %d, %t, want %d, %t", test.schema, test.i, count, exact, test.count, test.exact)
		}
	}
}

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
