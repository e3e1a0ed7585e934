// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"math"
	"math/bits"
	"slices"
)

// Snapshot is the state of a histogram at one moment. The zero value is empty
// and has no layout. It gets the layout of the first snapshot that is merged
// into it.
//
// Any number of goroutines may read a snapshot, or one may change it. An
// assignment does not copy the buckets. To copy a snapshot, merge it into the
// zero value.
type Snapshot struct {
	layout    Layout // MaxBuckets is 0 if there is no layout yet
	zeros     uint64
	negatives uint64
	count     uint64
	sum       uint128
	least     int64 // the smallest positive value, or 0 if there is none
	most      int64 // the largest value, or 0 if none is positive

	// Bucket first+k holds counts[k]. The outermost counts are not zero.
	first  int
	counts []uint64

	// The number of values up to each of the layout's bounds.
	atMost []uint64
}

// uint128 is an integer modulo 2^128.
type uint128 struct{ hi, lo uint64 }

func (a uint128) plus(b uint128) uint128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	return uint128{a.hi + b.hi + carry, lo}
}

// Layout returns the layout with the current schema.
func (s *Snapshot) Layout() Layout { return s.layout }

// Count returns the number of zeros and positive values, modulo 2^64.
func (s *Snapshot) Count() uint64 { return s.count }

// Zeros returns the number of zeros.
func (s *Snapshot) Zeros() uint64 { return s.zeros }

// Negatives returns the number of negative values. Count, Sum, Min, Max, the
// quantiles and the buckets leave them out.
func (s *Snapshot) Negatives() uint64 { return s.negatives }

// Min returns the smallest value that is not negative, or 0 if there is none.
func (s *Snapshot) Min() int64 {
	if s.zeros > 0 {
		return 0
	}
	return s.least
}

// Max returns the largest value, or 0 if none is positive.
func (s *Snapshot) Max() int64 { return s.most }

// Sum returns the exact sum in the recorded unit, as hi·2^64 + lo. It does not
// overflow before Count does.
func (s *Snapshot) Sum() (hi, lo uint64) { return s.sum.hi, s.sum.lo }

// ExportedSum returns the sum in the exported unit, with the precision of a
// float64.
func (s *Snapshot) ExportedSum() float64 {
	if s.sum == (uint128{}) {
		return 0
	}
	return (math.Ldexp(float64(s.sum.hi), 64) + float64(s.sum.lo)) / float64(s.layout.Unit.perExported())
}

// Buckets returns the index of the first bucket, and the counts of contiguous
// buckets from it on, without the zero bucket. In the exported unit,
// 2^(i/2^schema) is the upper bound of bucket i, and part of it. The indices
// are those of Prometheus. OTLP's index is one less. The snapshot owns the
// slice.
func (s *Snapshot) Buckets() (first int, counts []uint64) { return s.first, s.counts }

// CountAtMost returns the exact number of zeros and positive values up to bound
// i of the layout's Bounds. It leaves out values from before Rebound. The
// result is at most Count, and at least CountAtMost(i−1). CountAtMost panics if
// there is no bound i.
func (s *Snapshot) CountAtMost(i int) uint64 { return s.atMost[i] }

// Rebound replaces the layout's bounds by a copy of these, which must be valid
// bounds of a Layout. CountAtMost becomes 0 for all of them, because the old
// values cannot be counted again. It counts values that are merged into s later.
// Rebound changes nothing else. It has no effect if the bounds are equal, or if
// s is the zero value.
func (s *Snapshot) Rebound(bounds []int64) {
	if s.layout.MaxBuckets == 0 || slices.Equal(s.layout.Bounds, bounds) {
		return
	}
	s.layout.Bounds = slices.Clone(bounds)
	s.clearAtMost()
}

// clearAtMost sets s.atMost to a zero for each bound.
func (s *Snapshot) clearAtMost() {
	s.atMost = slices.Grow(s.atMost[:0], len(s.layout.Bounds))[:len(s.layout.Bounds)]
	clear(s.atMost)
}

// limits returns the smallest and the largest integer in bucket i.
func (l Layout) limits(i int) (low, high int64) {
	g, k := gridOf(l.Unit, l.Schema), max(-l.Schema, 0)
	return g.Upper((i-1)<<k) + 1, g.Upper(i << k)
}

// Reset empties s. It keeps the memory for the next use.
func (s *Snapshot) Reset() { *s = Snapshot{counts: s.counts[:0], atMost: s.atMost[:0]} }
