// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import "math/bits"

// insertionMax is up to how many samples insertion sort is faster than radix
// sort.
const insertionMax = 24

// sortSamples sorts samples by value. spare is at least as long.
//
// It is a radix sort of the bytes in which the values differ: its time does not
// depend on their order, and for the few bytes that durations take it is
// several times faster than sorting by comparison.
func sortSamples(samples, spare []sample) {
	if len(samples) <= insertionMax {
		insertionSort(samples)
		return
	}
	low, high := samples[0].value, samples[0].value
	for i := range samples {
		low, high = min(low, samples[i].value), max(high, samples[i].value)
	}
	from, to := samples, spare[:len(samples)]
	for shift := 0; shift < bits.Len64(uint64(high)-uint64(low)); shift += 8 {
		var count [256]uint32
		for i := range from {
			count[byte((uint64(from[i].value)-uint64(low))>>shift)]++
		}
		place := uint32(0)
		for digit, n := range count {
			count[digit] = place
			place += n
		}
		for i := range from {
			digit := byte((uint64(from[i].value) - uint64(low)) >> shift)
			to[count[digit]] = from[i]
			count[digit]++
		}
		from, to = to, from
	}
	if &from[0] != &samples[0] {
		copy(samples, from)
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

// mergeSamples appends to dst, which has room, the samples of two sorted lists
// in order.
func mergeSamples(dst, a, b []sample) []sample {
	if 8*len(b) < len(a) {
		// Few among many: find the place of each, and copy what is between.
		for _, s := range b {
			low, high := 0, len(a)
			for low < high {
				if mid := (low + high) / 2; a[mid].value <= s.value {
					low = mid + 1
				} else {
					high = mid
				}
			}
			dst = append(append(dst, a[:low]...), s)
			a = a[low:]
		}
		return append(dst, a...)
	}
	for len(a) > 0 && len(b) > 0 {
		if b[0].value < a[0].value {
			dst = append(dst, b[0])
			b = b[1:]
		} else {
			dst = append(dst, a[0])
			a = a[1:]
		}
	}
	return append(append(dst, a...), b...)
}
