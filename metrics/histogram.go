// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	reservoirSize = 1028        // limits the values that a histogram keeps
	decay         = 0.015       // of a value's weight, per second
	meanLife      = 1e9 / decay // nanoseconds until a weight has fallen by a factor of e
)

// histogram keeps up to 1,028 values. From more values it keeps a
// forward-decaying sample of 1,028 (see reservoir.go). The first values are
// inline, the others in segments. Segments are added as values arrive and never
// copied. A value takes 16 bytes.
type histogram struct {
	entry

	// threshold is 0 until the reservoir is full. Then it is the priority that
	// a value must exceed to enter, with the sign bit flipped. It only rises,
	// so Update can reject a value without the lock.
	threshold atomic.Int64
	seed      uint64 // of the priorities; set before threshold

	mu        sync.Mutex    // guards the fields from here to count
	n         uint16        // the number of values
	sorted    uint16        // the length of the part that is in order and in sums; see sortSamples
	replaced  uint32        // the number of replacements in the full reservoir
	evictions *evictionList // nil until the reservoir is full
	sums      sums
	segment1  *[32]sample
	segment2  *[64]sample
	segment3  *[128]sample
	segment4  *[256]sample
	segment5  *[512]sample
	segment6  *[28]sample
	segment0  [8]sample

	// count is the number of all updates, once the reservoir is full. It is the
	// last field, to be far from the fields that a look-up and the comparison
	// with threshold read.
	count atomic.Int64
}

// sample is a value in the reservoir.
type sample struct {
	value int64
	// at is the time of the value's arrival, in nanoseconds since base. Once
	// the reservoir is full, at is the priority: this time plus the value's
	// delay.
	at int64
}

// segments is the number of segments.
const segments = 7

// segment returns segment i, which must exist.
func (h *histogram) segment(i int) []sample {
	switch i {
	case 0:
		return h.segment0[:]
	case 1:
		return h.segment1[:]
	case 2:
		return h.segment2[:]
	case 3:
		return h.segment3[:]
	case 4:
		return h.segment4[:]
	case 5:
		return h.segment5[:]
	default:
		return h.segment6[:]
	}
}

// locate returns the segment that holds the sample with index i, and its index
// there. Segments begin at 0, 8, 40, 104, 232, 488 and 1000: 24 below powers of
// two.
func locate(i int) (segment, offset int) {
	length := bits.Len(uint(i + 24))
	if length == 5 {
		return 0, i
	}
	return length - 5, i + 24 - 1<<(length-1)
}

// at returns the sample with index i.
func (h *histogram) at(i int) *sample {
	segment, offset := locate(i)
	return &h.segment(segment)[offset]
}

// allocate makes the memory of a segment.
func (h *histogram) allocate(segment int) {
	switch segment {
	case 1:
		h.segment1 = new([32]sample)
	case 2:
		h.segment2 = new([64]sample)
	case 3:
		h.segment3 = new([128]sample)
	case 4:
		h.segment4 = new([256]sample)
	case 5:
		h.segment5 = new([512]sample)
	case 6:
		h.segment6 = new([28]sample)
	}
}

// Update adds a value. Once the reservoir is full, a value that cannot enter it
// costs one clock reading, one atomic addition, and arithmetic that does not
// wait for the addition.
func (h *histogram) Update(v int64) {
	t := now()
	threshold := h.threshold.Load()
	if threshold == 0 {
		h.fill(v, t)
		return
	}
	r := random(h.seed, uint64(h.count.Load()), uint64(t))
	h.count.Add(1)
	if t+maxExpDelay(r) > threshold^math.MinInt64 {
		h.offer(v, t+expDelay(r))
	}
}

// fill adds a value to the reservoir while it is not full.
func (h *histogram) fill(v, t int64) {
	h.mu.Lock()
	if h.n == reservoirSize { // another goroutine has filled it
		h.mu.Unlock()
		h.Update(v)
		return
	}
	segment, offset := locate(int(h.n))
	if offset == 0 {
		h.allocate(segment)
	}
	h.segment(segment)[offset] = sample{v, t}
	h.n++
	if h.n == reservoirSize {
		h.count.Add(reservoirSize) // not Store: after becomeFull, other goroutines add to it
		h.becomeFull()
	}
	h.mu.Unlock()
}

// version identifies a state of a histogram. Two versions are equal only if
// there was no update in between.
type version struct {
	count    int64
	replaced uint32
}

// version returns the current version. The caller holds h.mu.
func (h *histogram) version() version {
	if h.evictions == nil {
		return version{count: int64(h.n)}
	}
	return version{h.count.Load(), h.replaced}
}

func (h *histogram) Value() any {
	box := newBoxes()
	defer box.release()
	s := h.summary()
	return s.toMap(&box)
}
