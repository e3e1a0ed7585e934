// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

// Statistics returns the summary of numbers in the form of [Histogram.Value].
// The summary is exact for any number of them. For more than 1,028 numbers,
// Statistics allocates 32 bytes for each.
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
	} else { // too large for the pool
		w = &workspace{all: make([]sample, n), sorter: sorter{spare: make([]sample, n)}}
	}
	low, high := num[0], num[0]
	samples := w.all[:n]
	for i, v := range num {
		samples[i].value = v
		low, high = min(low, v), max(high, v)
	}
	var sums sums
	sums.addAll(samples)
	s.Mean, s.StdDev = sums.mean(n), sums.stdDev(n)
	w.distribute(samples, low, high)
	s.percentiles(n, func(i int) int64 { return samples[i].value })
}
