// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/regometer/regometer/internal/grid"
)

// Histogram records integers. New and NewLayout make it. All methods may be
// called from any goroutine.
type Histogram struct {
	state atomic.Pointer[state]

	// The smallest and the largest positive value, or MaxInt64 and 0 if there
	// is none. They change under the lock that counting their value takes,
	// after state has got counters for the buckets between them.
	least, most atomic.Int64

	grid *grid.Grid

	// mu is held during each change except an addition to a packed word, to
	// zeros or to negatives. version makes it a sequence lock, because version
	// is odd during a change. A copy is consistent if version was even before
	// it and is the same after it.
	mu      sync.Mutex
	version atomic.Uint64

	sumHi, sumLo atomic.Uint64 // of the values that state.counters counts

	zeros, negatives atomic.Uint64

	// classes counts the values that state.counters counts, by explicit bounds
	// instead of buckets. Class i has the values above bound i−1 and up to
	// bound i. Values above all bounds are in no class.
	//
	// classes does not count zeros, which belong to the first class. After
	// Snapshot.Rebound, a snapshot may have zeros that its bounds do not count.
	// If it is merged, the count of the first class falls by the difference,
	// modulo 2^64.
	classes []atomic.Uint64

	layout Layout // with the schema that the histogram began with
}

// snapshotTries limits the tries to take a snapshot without the lock. All tries
// fail only during a flood of values in buckets without packed words.
const snapshotTries = 1000

// New returns an empty histogram of the default layout. It panics if the unit
// is not one of the constants.
func New(u Unit) *Histogram {
	h, err := NewLayout(DefaultLayout(u))
	if err != nil {
		panic(err) // an invalid unit
	}
	return h
}

// NewLayout returns an empty histogram with this layout. It fails if a field is
// out of range. The error names the field.
func NewLayout(l Layout) (*Histogram, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	h := &Histogram{layout: l, grid: gridOf(l.Unit, l.Schema), classes: make([]atomic.Uint64, l.Bounds.Len())}
	h.least.Store(math.MaxInt64)
	h.state.Store(&state{shift: uint(max(-l.Schema, 0))})
	return h, nil
}

// Record records n. It allocates memory only when the range of the values
// grows, when a counter needs more bits, or when a bucket gets its packed word.
func (h *Histogram) Record(n int64) {
	for {
		if n < h.least.Load() || n > h.most.Load() {
			break
		}
		s, g := h.state.Load(), h.grid
		shift := s.shift & 63
		bucket := g.Position(n) >> shift
		slot := uint(bucket - s.words.first)
		if slot >= uint(len(s.words.byBucket)) {
			break
		}
		to := &s.words.byBucket[slot]
		if s.words.cuts.cut(slot) {
			to = s.word(int(slot), n, g, h.layout.Bounds)
		}
		excess := uint64(n - g.Lower[bucket<<shift])
		word := to.Add(countOne + excess)
		if word&(retired|countFull) == 0 {
			return
		}
		if word&retired == 0 {
			h.flush(n)
			return
		}
	}
	h.recordSlowly(n)
}

// recordSlowly records a value that is not positive, that is a new extreme, or
// whose bucket has no packed word.
func (h *Histogram) recordSlowly(n int64) {
	if n < 0 {
		h.negatives.Add(1)
		return
	}
	if n == 0 {
		h.zeros.Add(1)
		return
	}
	h.lock()
	defer h.unlock()
	h.include(n, n)
	h.addSum(uint128{0, uint64(n)})
	h.addClass(h.layout.Bounds.class(n), 1)
	bucket := h.grid.Position(n) >> h.state.Load().shift
	if h.addCount(bucket, 1) >= promoteAt {
		h.promote(bucket)
	}
}

// flush moves the values of the packed word for n to the counters and the sum.
func (h *Histogram) flush(n int64) {
	h.lock()
	defer h.unlock()
	s := h.state.Load()
	slot := h.grid.Position(n)>>s.shift - s.words.first
	if slot >= 0 && slot < len(s.words.byBucket) {
		h.drain(s, s.word(slot, n, h.grid, h.layout.Bounds), n, 0)
	}
}

func (h *Histogram) lock() {
	h.mu.Lock()
	h.version.Add(1)
}

func (h *Histogram) unlock() {
	h.version.Add(1)
	h.mu.Unlock()
}

// Snapshot copies the histogram into s, and uses the memory of s again. Count,
// sum, minimum, maximum, buckets and the counts by bounds cover the same
// recordings.
//
// Snapshot takes no lock, and Record does not wait for it, with one exception.
// A try to copy fails if anything except a packed word changes in the meantime.
// After a thousand failed tries, Snapshot takes the lock while it copies.
func (h *Histogram) Snapshot(s *Snapshot) {
	for try := range snapshotTries {
		version := h.version.Load()
		if version%2 == 0 {
			h.copyTo(s)
			if h.version.Load() == version {
				return
			}
		}
		if try%10 == 9 {
			runtime.Gosched() // the goroutine with the lock may be waiting for a processor
		}
	}
	h.mu.Lock()
	h.copyTo(s)
	h.mu.Unlock()
}

// copyTo copies the histogram into s. If the histogram changes in the meantime,
// the copy may be invalid.
func (h *Histogram) copyTo(s *Snapshot) {
	state := h.state.Load()
	s.Reset()
	s.layout = h.layout
	s.layout.Schema = int(h.grid.Schema) - int(state.shift)
	s.zeros, s.negatives = h.zeros.Load(), h.negatives.Load()
	s.count = s.zeros
	s.clearAtMost()
	for class := range h.classes {
		s.atMost[class] = h.classes[class].Load()
	}
	if s.most = h.most.Load(); s.most != 0 {
		h.copyBuckets(s, state)
	}
	below := s.zeros
	for class := range s.atMost { // add up the counts of the classes
		below += s.atMost[class]
		s.atMost[class] = below
	}
}

// copyBuckets copies the positive values. It leaves the counts of the classes
// in s.atMost.
func (h *Histogram) copyBuckets(s *Snapshot, state *state) {
	s.least = h.least.Load()
	s.sum = uint128{h.sumHi.Load(), h.sumLo.Load()}

	low := max(h.grid.Position(s.least)>>state.shift, state.first)
	high := min(h.grid.Position(s.most)>>state.shift, state.first+state.counters.len()-1)
	if low > high {
		return // an invalid copy
	}
	s.first = (low + h.grid.Base>>state.shift) + 1
	s.counts = slices.Grow(s.counts, high-low+1)[:high-low+1]
	state.counters.copyTo(s.counts, low-state.first)

	count := func(word *atomic.Uint64, bucket int) uint64 {
		if bucket < low || bucket > high {
			return 0 // the word is empty, or the copy is invalid
		}
		n, sum := state.decode(word.Load(), bucket, h.grid)
		s.counts[bucket-low] += n
		s.sum = s.sum.plus(uint128{0, sum})
		return n
	}
	bounds := h.layout.Bounds.list()
	class, inClass := 0, uint64(0)
	for slot := range state.words.byBucket {
		bucket := state.words.first + slot
		for class < len(bounds) && bounds[class] < h.grid.Lower[(bucket+1)<<state.shift] {
			s.atMost[class] += inClass
			class, inClass = class+1, 0
		}
		inClass += count(&state.words.byBucket[slot], bucket)
	}
	if class < len(bounds) {
		s.atMost[class] += inClass
	}
	if c := state.words.cuts; c != nil {
		for i := range c.byBound {
			class := c.first + i
			s.atMost[class] += count(&c.byBound[i], h.grid.Position(bounds[class])>>state.shift)
		}
	}
	for _, n := range s.counts {
		s.count += n
	}
}
