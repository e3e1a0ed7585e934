// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math/bits"
	"sort"
)

const (
	insertionMax = 24   // limits the samples that insertion sort takes; it is fastest for few
	maxBuckets   = 2048 // limits the buckets of a level
)

// sorter holds the memory that sorting needs besides the samples.
type sorter struct {
	spare []sample // as long as the samples
	ends  [maxBuckets]uint32
}

// sort sorts samples by value.
//
// It is a bucket sort. It divides the range of the values into about twice as
// many buckets as there are samples, so that the samples are almost in order.
// It sorts a bucket with many samples in the same way, with a narrower range.
// Even unevenly spread values take few levels, because each level's range is at
// least 2⁵ times narrower than the range above.
func (r *sorter) sort(samples []sample) {
	if len(samples) <= insertionMax {
		insertionSort(samples)
		return
	}
	low, high := samples[0].value, samples[0].value
	for i := range samples {
		low, high = min(low, samples[i].value), max(high, samples[i].value)
	}
	r.distribute(samples, low, high)
}

// distribute sorts samples. low and high are the smallest and the largest
// value.
func (r *sorter) distribute(samples []sample, low, high int64) {
	if low == high {
		return
	}
	n := len(samples)
	indexBits := bits.Len(uint(min(2*n, maxBuckets)) - 1)
	shift := max(bits.Len64(uint64(high)-uint64(low))-indexBits, 0)
	bucket := func(value int64) uint64 {
		return (uint64(value) - uint64(low)) >> shift % maxBuckets
	}
	ends := r.ends[:1<<indexBits]
	clear(ends)
	for i := range samples {
		r.ends[bucket(samples[i].value)]++
	}
	sum, most := uint32(0), uint32(0)
	for i, n := range ends {
		most = max(most, n)
		ends[i] = sum
		sum += n
	}
	spare := r.spare[:n]
	for i := range samples {
		end := &r.ends[bucket(samples[i].value)]
		spare[*end] = samples[i]
		*end++
	}
	copy(samples, spare)
	switch {
	case shift == 0: // a bucket is a single value
	case most <= insertionMax:
		insertionSort(samples)
	default:
		for start := 0; start < n; {
			end := start + 1
			for end < n && bucket(samples[end].value) == bucket(samples[start].value) {
				end++
			}
			r.sort(samples[start:end])
			start = end
		}
	}
}

func insertionSort(samples []sample) {
	for i := 1; i < len(samples); i++ {
		s := samples[i]
		j := i
		for ; j > 0 && samples[j-1].value > s.value; j-- {
			samples[j] = samples[j-1]
		}
		samples[j] = s
	}
}

// mergeSamples appends the samples of two sorted lists to dst, in order. dst
// must have room for them. It is fast if b is much shorter than a, because it
// copies the parts of a between the samples of b.
func mergeSamples(dst, a, b []sample) []sample {
	for _, s := range b {
		// slices.BinarySearchFunc takes twice as long, because Go does not inline it.
		n := sort.Search(len(a), func(i int) bool { return a[i].value > s.value }) //nolint:forbidigo // OPA's linter
		dst = append(append(dst, a[:n]...), s)
		a = a[n:]
	}
	return append(dst, a...)
}
