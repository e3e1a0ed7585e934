// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package contrast

import (
	"slices"

	"github.com/regometer/regometer/exphist"
)

// blocks are the durations of a stage in slices of time, on a row of contiguous
// buckets. A position is a number from 0, the lower bound of the first bucket, to
// the number of buckets, the upper bound of the last one. The values of a bucket
// lie evenly in it on the logarithmic scale.
type blocks struct {
	below  [][]float64 // of each slice, the number of durations below position 0, 1, …
	total  []float64   // of all slices together
	waves  [][]float64 // see longRunVariance
	counts []Count     // for side
}

// newBlocks puts snapshots on the buckets of a snapshot into which all of them
// were merged: so many, from the first one on.
func newBlocks(schema, first, width int, snapshots []*exphist.Snapshot) *blocks {
	b := &blocks{total: make([]float64, width+1), waves: waves(len(snapshots)), counts: make([]Count, len(snapshots))}
	for _, s := range snapshots {
		below := make([]float64, width+1)
		below[0] = float64(s.Zeros())
		from, counts := s.Buckets()
		finer := s.Layout().Schema - schema // 2^finer buckets become one
		for k, n := range counts {
			below[ceilShift(from+k, finer)-first+1] += float64(n)
		}
		for k := range below {
			if k > 0 {
				below[k] += below[k-1]
			}
			b.total[k] += below[k]
		}
		b.below = append(b.below, below)
	}
	return b
}

// ceilShift returns ⌈i/2^k⌉, the new index of bucket i if 2^k buckets become
// one.
func ceilShift(i, k int) int { return -(-i >> k) }

// count returns the number of durations.
func (b *blocks) count() float64 { return b.total[len(b.total)-1] }

// at returns the interpolated count below position u. The counts below
// positions 0, 1, … are given.
func at(below []float64, u float64) float64 {
	u = max(0, min(u, float64(len(below)-1)))
	k := min(int(u), len(below)-2)
	return below[k] + (u-float64(k))*(below[k+1]-below[k])
}

// above returns the share of the durations that are above position u.
func (b *blocks) above(u float64) float64 { return 1 - at(b.total, u)/b.count() }

// quantile returns the position of the q-quantile.
func (b *blocks) quantile(q float64) float64 {
	rank := q * b.count()
	k, _ := slices.BinarySearch(b.total, rank) // total[k-1] < rank ≤ total[k]
	if k == 0 {
		return 0
	}
	return float64(k-1) + (rank-b.total[k-1])/(b.total[k]-b.total[k-1])
}

// side returns the share of the durations above position u.
func (b *blocks) side(u float64) side {
	for i, below := range b.below {
		n := below[len(below)-1]
		b.counts[i] = Count{n, n - at(below, u)}
	}
	return sideOf(b.counts, b.waves)
}
