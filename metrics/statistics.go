// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math/bits"
	"slices"
)

// maxSorted limits the numbers that Statistics sorts, and so its memory to less
// than 8 MB. Of more numbers, it sorts those near the percentiles. It finds
// them by passes over all numbers.
const maxSorted = 240_000

// Statistics returns the summary of numbers in the form of [Histogram.Value].
// The summary is exact for any count of numbers.
func Statistics(num ...int64) any {
	s := Summary{Count: int64(len(num))}
	if len(num) > 0 {
		s.describe(num)
	}
	box := newBoxes()
	defer box.release()
	return s.toMap(&box)
}

// describe fills in all fields except the count.
func (s *Summary) describe(num []int64) {
	n := len(num)
	var w *workspace
	if n <= reservoirSize {
		w = workspaces.Get().(*workspace)
		defer workspaces.Put(w)
	} else { // too large to be kept
		room := min(n, maxSorted)
		w = &workspace{all: make([]sample, room), sorter: sorter{spare: make([]sample, room)}}
	}
	var sums sums
	low, high := num[0], num[0]
	var samples []sample
	for rest := num; len(rest) > 0; rest = rest[len(samples):] {
		samples = w.all[:min(len(rest), len(w.all))]
		for i := range samples {
			v := rest[i]
			samples[i].value = v
			low, high = min(low, v), max(high, v)
		}
		sums.addAll(samples)
	}
	s.Mean, s.StdDev = sums.mean(n), sums.stdDev(n)
	if len(samples) == n {
		w.distribute(samples, low, high)
		s.percentiles(n, func(i int) int64 { return samples[i].value })
		return
	}
	var ranks []int
	s.percentiles(n, func(i int) int64 { ranks = append(ranks, i); return 0 })
	slices.Sort(ranks)
	values := make(map[int]int64, len(ranks))
	w.find(values, ranks, num, low, high, 0)
	s.percentiles(n, func(i int) int64 { return values[i] })
}

// find puts the numbers of the given ranks into values. Rank i is the index i
// in the sorted order. The ranks are in rising order. Their numbers are between
// low and high, and below counts the numbers less than low.
//
// find divides the range from low to high into buckets, counts the numbers in
// each, and sorts the numbers of all buckets that contain a rank. If these are
// too many, it divides each of the buckets again: a bucket is 2¹¹ times
// narrower than the range.
func (w *workspace) find(values map[int]int64, ranks []int, num []int64, low, high int64, below int) {
	width := uint64(high) - uint64(low)
	shift := max(bits.Len64(width)-bits.Len(maxBuckets-1), 0)
	var counts [maxBuckets]int
	for _, v := range num {
		if offset := uint64(v) - uint64(low); offset <= width {
			counts[offset>>shift%maxBuckets]++
		}
	}
	type bucket struct {
		ranks     []int
		low, high int64
		below     int // numbers less than low
	}
	var wanted []bucket
	var isWanted [maxBuckets]bool
	total := 0
	for i, count := range &counts {
		n, _ := slices.BinarySearch(ranks, below+count)
		if n > 0 {
			first := uint64(i) << shift
			last := min(first+1<<shift-1, width)
			wanted = append(wanted, bucket{ranks[:n], int64(uint64(low) + first), int64(uint64(low) + last), below})
			isWanted[i] = true
			total += count
		}
		ranks = ranks[n:]
		below += count
	}
	switch {
	case shift == 0: // a bucket is a single value
		for _, b := range wanted {
			for _, rank := range b.ranks {
				values[rank] = b.low
			}
		}
	case total > len(w.all):
		for _, b := range wanted {
			w.find(values, b.ranks, num, b.low, b.high, b.below)
		}
	default:
		samples := w.all[:0]
		for _, v := range num {
			if offset := uint64(v) - uint64(low); offset <= width && isWanted[offset>>shift%maxBuckets] {
				samples = append(samples, sample{value: v})
			}
		}
		w.sort(samples)
		for _, b := range wanted {
			for _, rank := range b.ranks {
				values[rank] = samples[rank-b.below].value
			}
			n := 0
			for n < len(samples) && samples[n].value <= b.high {
				n++
			}
			samples = samples[n:]
		}
	}
}
