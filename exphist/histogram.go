// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"math"
	"slices"
	"sync"

	"github.com/regometer/regometer/internal/grid"
)

// Histogram records integers. New makes it. All methods may be called from any
// goroutine.
type Histogram struct {
	grid   *grid.Grid
	bounds []int64

	mu               sync.Mutex // protects all fields below
	layout           Layout     // with the current schema
	zeros, negatives uint64
	least, most      int64 // the smallest and the largest positive value, or MaxInt64 and 0 if there is none
	sum              uint128

	// A bucket's number is its grid position, shifted right by shift. Bucket
	// first+i has counter i.
	shift    uint
	first    int
	counters counters

	// classes counts the positive values by explicit bounds. Class i has the
	// values above bound i−1 and up to bound i. The last class has those above
	// all bounds. After Snapshot.Rebound, a snapshot may have zeros that its
	// bounds do not count. If it is merged, the count of the first class falls
	// by the difference, modulo 2^64.
	classes []uint64
}

// New returns an empty histogram with this layout. It panics if the layout is not
// valid.
func New(l Layout) *Histogram {
	if err := l.Validate(); err != nil {
		panic(err)
	}
	l = l.complete()
	l.Bounds = slices.Clone(l.Bounds)
	return &Histogram{
		grid: gridOf(l.Unit, l.Schema), bounds: l.Bounds, layout: l, least: math.MaxInt64,
		shift: uint(max(-l.Schema, 0)), classes: make([]uint64, len(l.Bounds)+1),
	}
}

// Record records n. It allocates memory only when the range of the values
// grows, or when a counter needs more bits.
func (h *Histogram) Record(n int64) {
	if n <= 0 {
		h.mu.Lock()
		if n == 0 {
			h.zeros++
		} else {
			h.negatives++
		}
		h.mu.Unlock()
		return
	}
	position, class := h.grid.Position(n), 0
	if len(h.bounds) > 0 {
		class, _ = slices.BinarySearch(h.bounds, n)
	}
	h.mu.Lock()
	if n < h.least || n > h.most {
		h.include(n, n)
	}
	h.sum = h.sum.plus(uint128{0, uint64(n)})
	h.classes[class]++
	h.counters.add(position>>(h.shift&63)-h.first, 1)
	h.mu.Unlock()
}

// Snapshot copies the histogram into s, and uses the memory of s again. All
// numbers of s cover the same recordings. Record waits for the copy, which
// takes about a nanosecond for each bucket.
func (h *Histogram) Snapshot(s *Snapshot) {
	s.Reset()
	h.mu.Lock()
	defer h.mu.Unlock()
	s.layout, s.zeros, s.negatives, s.count = h.layout, h.zeros, h.negatives, h.zeros
	s.clearAtMost()
	below := h.zeros
	for class := range s.atMost { // add up the counts of the classes
		below += h.classes[class]
		s.atMost[class] = below
	}
	if h.most == 0 {
		return
	}
	s.least, s.most, s.sum = h.least, h.most, h.sum
	low, high := h.grid.Position(h.least)>>h.shift, h.grid.Position(h.most)>>h.shift
	s.first = (low + h.grid.Base>>h.shift) + 1
	s.counts = slices.Grow(s.counts, high-low+1)[:high-low+1]
	h.counters.copyTo(s.counts, low-h.first)
	for _, n := range s.counts {
		s.count += n
	}
}

// Merge adds the values of s. The schema becomes the highest one that is not
// above either schema and needs no more buckets than the histogram's
// MaxBuckets. Merge fails, and changes nothing, if the units or the bounds
// differ.
func (h *Histogram) Merge(s *Snapshot) error {
	if s.layout.MaxBuckets == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.layout.mergeable(s.layout); err != nil {
		return err
	}
	h.zeros += s.zeros
	h.negatives += s.negatives
	below := s.zeros
	for class, n := range s.atMost {
		h.classes[class] += n - below
		below = n
	}
	if s.layout.Schema < h.layout.Schema {
		h.reshape(uint(int(h.grid.Schema)-s.layout.Schema), h.least, h.most)
	}
	if s.most == 0 {
		return nil
	}
	h.include(s.least, s.most)
	k := s.layout.Schema - h.layout.Schema
	for i, n := range s.counts {
		h.counters.add((s.first+i-1)>>k-h.grid.Base>>h.shift-h.first, n)
	}
	h.sum = h.sum.plus(s.sum)
	return nil
}

// The caller of each method below holds the lock.

// include extends the range of the values to least and most. It reduces the
// schema if the range needs more than MaxBuckets.
func (h *Histogram) include(least, most int64) {
	least, most = min(least, h.least), max(most, h.most)
	shift := h.shift
	for h.grid.Position(most)>>shift-h.grid.Position(least)>>shift >= h.layout.MaxBuckets {
		shift++
	}
	h.reshape(shift, least, most)
	h.least, h.most = least, most
}

// reshape changes the shift to a higher one, or keeps it. It makes counters for
// the buckets from that of least to that of most, and for some more around
// them. There are no values if most is 0.
func (h *Histogram) reshape(shift uint, least, most int64) {
	const chunk = 8 // the range grows by this many buckets, whose smallest counters fill a word
	old, first, k := h.counters, h.first, shift-h.shift
	h.shift, h.layout.Schema = shift, int(h.grid.Schema)-int(shift)
	if most == 0 {
		return
	}
	low, high := h.grid.Position(least)>>shift, h.grid.Position(most)>>shift
	if k == 0 && low >= first && high < first+old.len() {
		return
	}
	h.first = low &^ (chunk - 1)
	h.counters = newCounters((high|(chunk-1))+1-h.first, old.width)
	for i, n := range old.all() {
		if n > 0 {
			h.counters.add((first+i)>>k-h.first, n)
		}
	}
}
