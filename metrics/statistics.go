// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import "sync"

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

func (h *histogram) Value() any {
	box := newBoxes()
	defer box.release()
	s, _ := h.summary()
	return s.toMap(&box)
}

// summary returns the summary of the values so far, and its version.
func (h *histogram) summary() (Summary, version) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.version()
	s := Summary{Count: v.count}
	if h.n > 0 {
		h.sortSamples()
		n := int(h.n)
		s.Mean, s.StdDev = h.sums.mean(n), h.sums.stdDev(n)
		s.percentiles(n, func(i int) int64 { return h.at(i).value })
	}
	return s, v
}

// sortSamples sorts all values and adds them to the sums. It sorts only the
// values that came since the last call, and merges them with the values that
// were in order before. The caller holds h.mu.
func (h *histogram) sortSamples() {
	n := int(h.n)
	if int(h.sorted) == n && (h.evictions == nil || !h.evictions.anyMoved()) {
		return
	}
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	all := w.all[:0]
	for i := 0; len(all) < n; i++ {
		segment := h.segment(i)
		all = append(all, segment[:min(len(segment), n-len(all))]...)
	}
	ordered, fresh := all[:h.sorted], all[h.sorted:]
	if h.evictions != nil {
		ordered, fresh = h.evictions.separate(all, w.fresh[:0])
	}
	h.sums.addAll(fresh)
	w.sort(fresh)
	if h.evictions != nil {
		h.evictions.relocate(&h.reservoir, fresh)
	}
	if len(ordered) > 0 {
		fresh = mergeSamples(w.spare[:0], ordered, fresh)
	}
	for i := 0; len(fresh) > 0; i++ {
		fresh = fresh[copy(h.segment(i), fresh):]
	}
	h.sorted = h.n
}

// workspace holds the memory for sorting the samples of one histogram.
type workspace struct {
	all, fresh []sample
	sorter
}

var workspaces = sync.Pool{New: func() any {
	const n = reservoirSize
	room := make([]sample, 3*n)
	return &workspace{
		all:    room[:n:n],
		fresh:  room[n : 2*n : 2*n],
		sorter: sorter{spare: room[2*n:]},
	}
}}
