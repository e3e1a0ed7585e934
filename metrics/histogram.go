// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// histogram keeps up to 1,028 values. From more values it keeps a
// forward-decaying sample of 1,028.
type histogram struct {
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
	reservoir

	// count is the number of all updates, once the reservoir is full. It is the
	// last field, to be far from the fields that a look-up and the comparison
	// with threshold read.
	count atomic.Int64
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

// becomeFull turns times of arrival into priorities. The caller holds h.mu.
func (h *histogram) becomeFull() {
	h.evictions = new(evictionList)
	h.seed = rand.Uint64()
	floor := int64(math.MaxInt64)
	for i := range segments {
		segment := h.segment(i)
		for j := range segment {
			segment[j].at += expDelay(rand.Uint64())
			floor = min(floor, segment[j].at)
		}
	}
	for i := h.sorted; i < h.n; i++ {
		h.evictions.markMoved(i)
	}
	h.sorted = h.n
	// If values come at a steady rate, this span above the threshold has 48
	// priorities.
	h.evictions.span = 3_112_840_000 // meanLife · 48 / 1,028
	h.findEvictions(floor)
}

// findEvictions finds the samples of lowest priority and sets the threshold.
// floor must not be above any priority. The caller holds h.mu.
func (h *histogram) findEvictions(floor int64) {
	l := h.evictions
	for l.n = 0; l.n == 0; {
		limit := floor + l.span
		if limit < floor { // an overflow
			limit = math.MaxInt64
		}
		place := uint16(0)
		for i := range segments {
			for _, s := range h.segment(i) {
				if s.at <= limit && (l.n < len(l.place) || s.at < l.priority[0]) {
					l.insert(place, s.at)
				}
				place++
			}
		}
		switch {
		case l.n == len(l.place):
			l.span /= 2
		case l.n < len(l.place)/4 && limit < math.MaxInt64:
			l.span = 2*l.span + 1
		}
	}
	h.raiseThreshold()
}

// raiseThreshold sets threshold to the lowest priority in the reservoir. The
// caller holds h.mu.
func (h *histogram) raiseThreshold() {
	h.threshold.Store(h.evictions.priority[h.evictions.n-1] ^ math.MinInt64)
}

// offer replaces the sample of the lowest priority with v, if the priority of v
// is higher.
func (h *histogram) offer(v, priority int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.evictions
	if l.n == 0 {
		h.findEvictions(h.threshold.Load() ^ math.MinInt64)
	}
	if priority <= l.priority[l.n-1] {
		return
	}
	place := l.place[l.n-1]
	s := h.at(int(place))
	if !l.hasMoved(place) {
		h.sums.remove(s.value)
		l.markMoved(place)
	}
	*s = sample{v, priority}
	h.replaced++
	l.n--
	switch {
	case l.n == 0:
		h.findEvictions(h.threshold.Load() ^ math.MinInt64)
	case priority < l.priority[0]:
		l.insert(place, priority)
		fallthrough
	default:
		h.raiseThreshold()
	}
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
