// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import "math"

// Quantile returns the value of rank ⌈q·n⌉ among the n values that are not
// negative, in the recorded unit. The result is from Min to Max. Its relative
// error is at most (b−1)/(b+1), where b is the ratio of a bucket's bounds:
// 0.0108 for schema 5, and 0.33 for schema 0. Quantile returns Min for q ≤ 0,
// Max for q ≥ 1, and NaN if q is NaN or there are no values.
func (s *Snapshot) Quantile(q float64) float64 {
	var one [1]float64
	return s.AppendQuantiles(one[:0], q)[0]
}

// AppendQuantiles appends Quantile(q) for each q of qs to dst. It is fastest if
// qs ascend.
func (s *Snapshot) AppendQuantiles(dst []float64, qs ...float64) []float64 {
	counts := s.counts
	k, below := 0, s.zeros // the number of values below bucket first+k
	for _, q := range qs {
		switch {
		case s.count == 0 || math.IsNaN(q):
			dst = append(dst, math.NaN())
			continue
		case q <= 0:
			dst = append(dst, float64(s.Min()))
			continue
		case q >= 1:
			dst = append(dst, float64(s.Max()))
			continue
		}
		rank := s.rank(q)
		if rank <= below {
			k, below = 0, s.zeros
		}
		if rank <= s.zeros {
			dst = append(dst, 0)
			continue
		}
		for ; k+4 < len(counts); k += 4 { // skip four buckets at a time
			four := below + counts[k] + counts[k+1] + counts[k+2] + counts[k+3]
			if four >= rank {
				break
			}
			below = four
		}
		for ; k+1 < len(counts) && below+counts[k] < rank; k++ {
			below += counts[k]
		}
		dst = append(dst, s.middle(s.first+k))
	}
	return dst
}

// rank returns ⌈q·n⌉ for 0 < q < 1, from 1 to n.
func (s *Snapshot) rank(q float64) uint64 {
	r := math.Ceil(q * float64(s.count))
	if r >= float64(s.count) {
		return s.count
	}
	return max(uint64(r), 1)
}

// middle returns the number in bucket i with the smallest possible relative
// error. It is the harmonic mean of the smallest and the largest value that the
// bucket may hold.
func (s *Snapshot) middle(i int) float64 {
	least, most := s.layout.limits(i)
	low, high := float64(max(least, s.least)), float64(min(most, s.most))
	return min(max(2*low*(high/(low+high)), low), high)
}
