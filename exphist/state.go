// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import "sync/atomic"

// state has the counts of the buckets. Its fields do not change, because a new
// state replaces it.
//
// The number of a bucket is its grid position, shifted right by shift. Each
// bucket has a counter, which changes under the lock. After promoteAt values,
// the bucket also gets a packed word, which counts all later values. When the
// word is full or replaced, its count moves to the counter. So a bucket with
// few values takes a byte of memory, and a lock for each value. A bucket with
// many values takes eight bytes more, and an atomic addition for each value.
type state struct {
	shift    uint // the grid's schema minus the histogram's
	first    int  // the first counter's bucket
	counters packedCounters
	words    packedWords
}

const (
	promoteAt = 96 // with this many values, a bucket gets a packed word
	chunk     = 8  // the range grows by this many buckets, whose smallest counters fill a word
)

// The caller of each method below holds the lock.

// addSum adds n to the sum of the values that the counters count.
func (h *Histogram) addSum(n uint128) {
	sum := uint128{h.sumHi.Load(), h.sumLo.Load()}.plus(n)
	h.sumHi.Store(sum.hi)
	h.sumLo.Store(sum.lo)
}

// addClass adds n to the count of a class of values.
func (h *Histogram) addClass(class int, n uint64) {
	if class < len(h.classes) {
		h.classes[class].Store(h.classes[class].Load() + n)
	}
}

// addCount adds n to a bucket's counter, which must exist, and returns the new
// count. It widens the counters if necessary.
func (h *Histogram) addCount(bucket int, n uint64) uint64 {
	for {
		s := h.state.Load()
		if count, ok := s.counters.add(bucket-s.first, n); ok {
			return count
		}
		wider := *s
		wider.counters = newPackedCounters(s.counters.len(), s.counters.width+1)
		for i, n := range s.counters.all() {
			wider.counters.add(i, n)
		}
		h.state.Store(&wider)
	}
}

// include extends the range of the values to least and most. It reduces the
// schema if the range needs more than MaxBuckets.
func (h *Histogram) include(least, most int64) {
	if least >= h.least.Load() && most <= h.most.Load() {
		return
	}
	least, most = min(least, h.least.Load()), max(most, h.most.Load())
	low, high := h.grid.Position(least), h.grid.Position(most)
	shift := h.state.Load().shift
	for high>>shift-low>>shift >= h.layout.MaxBuckets {
		shift++
	}
	h.reshape(shift, low>>shift, high>>shift)
	h.least.Store(least)
	h.most.Store(most)
}

// reduceTo reduces the histogram's schema to this one, unless it is lower
// already.
func (h *Histogram) reduceTo(schema int) {
	s := h.state.Load()
	shift := uint(int(h.grid.Schema) - schema)
	switch {
	case schema >= int(h.grid.Schema)-int(s.shift):
	case h.most.Load() == 0:
		h.state.Store(&state{shift: shift})
	default:
		h.reshape(shift, h.grid.Position(h.least.Load())>>shift, h.grid.Position(h.most.Load())>>shift)
	}
}

// reshape changes the shift to a higher one, or keeps it. It makes counters for
// the buckets from low to high.
func (h *Histogram) reshape(shift uint, low, high int) {
	old := h.state.Load()
	k := shift - old.shift
	if k == 0 && low >= old.first && high < old.first+old.counters.len() {
		return
	}
	s := &state{shift: shift, words: old.words}
	s.first = low &^ (chunk - 1)
	s.counters = newPackedCounters((high|(chunk-1))+1-s.first, old.counters.width)
	if k > 0 && len(old.words.byBucket) > 0 {
		s.words = h.newPackedWords(shift, old.words.first>>k, (old.words.first+len(old.words.byBucket)-1)>>k)
	}
	h.state.Store(s)
	for i, n := range old.counters.all() {
		if n > 0 {
			h.addCount((old.first+i)>>k, n)
		}
	}
	if k > 0 {
		h.retire(old)
	}
}

// promote gives a bucket a packed word, unless the bucket has one or is too
// wide.
func (h *Histogram) promote(bucket int) {
	old := h.state.Load()
	first, last := bucket, bucket
	if n := len(old.words.byBucket); n > 0 {
		first, last = min(first, old.words.first), max(last, old.words.first+n-1)
		if last-first == n-1 {
			return
		}
	}
	if !h.packable(old.shift, bucket) {
		return
	}
	s := *old
	s.words = h.newPackedWords(s.shift, first, last)
	h.state.Store(&s)
	h.retire(old)
}

// newPackedWords returns empty packed words for the buckets from first to last,
// and for some more buckets around them. It leaves out buckets at the end that
// are too wide.
func (h *Histogram) newPackedWords(shift uint, first, last int) packedWords {
	first &^= chunk - 1
	end := (last | (chunk - 1)) + 1
	for end > first && !h.packable(shift, end-1) {
		end--
	}
	return packedWords{first, make([]atomic.Uint64, end-first), newCutWords(h.layout.Bounds, h.grid, shift, first, end-first)}
}

// packable reports whether a bucket is narrow enough for a packed word.
func (h *Histogram) packable(shift uint, bucket int) bool {
	end := (bucket + 1) << shift
	return end < len(h.grid.Lower) && h.grid.Lower[end]-h.grid.Lower[bucket<<shift] <= maxPackedWidth
}

// retire ends the use of a former state's packed words. The new state must be
// stored first, because a goroutine that adds to a retired word then loads it.
func (h *Histogram) retire(old *state) {
	for slot := range old.words.byBucket {
		greatest := h.grid.Lower[(old.words.first+slot+1)<<old.shift]
		h.drain(old, &old.words.byBucket[slot], greatest, retired)
	}
	if c := old.words.cuts; c != nil {
		for i := range c.byBound {
			h.drain(old, &c.byBound[i], h.layout.Bounds.At(c.first+i), retired)
		}
	}
}

// drain replaces a packed word of the current or a former state, and moves its
// values to the counters. n is any value that the word can count.
func (h *Histogram) drain(s *state, word *atomic.Uint64, n int64, replacement uint64) {
	bucket := h.grid.Position(n) >> s.shift
	count, sum := s.decode(word.Swap(replacement), bucket, h.grid)
	if count > 0 {
		h.addCount(bucket>>(h.state.Load().shift-s.shift), count)
		h.addClass(h.layout.Bounds.class(n), count)
		h.addSum(uint128{0, sum})
	}
}
