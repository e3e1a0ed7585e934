// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// The full reservoir is a forward-decaying priority sample (Cormode,
// Shkapenyuk, Srivastava and Xu, "Forward Decay: A Practical Time Decay Model
// for Streaming Systems", ICDE 2009): a value that arrives at time t has the
// weight w = exp(decay·t) and the priority w/u, with u uniform in (0, 1], and
// the values of the largest priorities are kept.
//
// Here a priority is kept as its logarithm over decay: t − ln(u)/decay, a
// time. The order is the same, and as nanoseconds in an int64 it neither
// overflows nor loses precision, however long the histogram lives: there is
// nothing to rescale. The second term, exponentially distributed with a mean of
// 67 seconds, is the value's delay.

// expDelay returns −ln(u)/decay in nanoseconds, with u made from 64 random
// bits.
func expDelay(r uint64) int64 {
	u := (float64(r>>11) + 0.5) / (1 << 53)
	return int64(-math.Log(u) * meanLife)
}

// maxExpDelay returns a bound that expDelay(r) does not exceed, from the
// leading zeros of r alone: u has no more of them.
func maxExpDelay(r uint64) int64 {
	const halfLife = 46_209_812_038 // ln 2 · meanLife, rounded up
	return int64(bits.LeadingZeros64(r)+1) * halfLife
}

// random returns 64 random bits from the number of updates so far, hashed as
// wyrand does it (Wang Yi, wyhash). The time, added in, gives different bits to
// goroutines that have read the same number.
func random(seed, n, t uint64) uint64 {
	s := seed + n*0x9e3779b97f4a7c15 + t*0xd6e8feb86659fd93
	hi, lo := bits.Mul64(s, s^0xe7037ed1a0b428db)
	return hi ^ lo
}

// evictionList says which samples of a full reservoir leave next, and which are
// out of order.
type evictionList struct {
	// The n samples of lowest priority: their priorities, falling, and their
	// places. When they are used up, the next ones are found by one pass over
	// the reservoir, which looks for priorities up to span above the threshold.
	// For each sample replaced that costs less than a heap of all of them
	// would, and takes less memory.
	priority [64]int64
	place    [64]uint16
	n        int
	span     int64
	// moved has a bit for each sample that is not in its place by value,
	// nor in the sums.
	moved [(reservoirSize + 63) / 64]uint64
}

func (l *evictionList) move(place uint16)          { l.moved[place/64] |= 1 << (place % 64) }
func (l *evictionList) hasMoved(place uint16) bool { return l.moved[place/64]&(1<<(place%64)) != 0 }
func (l *evictionList) anyMoved() bool             { return l.moved != [len(l.moved)]uint64{} }

// separate divides the samples of the reservoir into those that have not moved,
// which it closes up in place, and those that have, which it appends to fresh.
func (l *evictionList) separate(all, fresh []sample) (ordered, moved []sample) {
	kept, next := 0, 0
	for i, word := range l.moved {
		for ; word != 0; word &= word - 1 {
			place := 64*i + bits.TrailingZeros64(word)
			fresh = append(fresh, all[place])
			kept += copy(all[kept:], all[next:place])
			next = place + 1
		}
	}
	kept += copy(all[kept:], all[next:])
	return all[:kept], fresh
}

// relocate is called before the samples of h are written back in order, of
// which fresh are those that have moved, in order. It takes the list of the
// lowest along to their new places: one less for each that has left before it,
// and one more for each that comes before it.
func (l *evictionList) relocate(h *histogram, fresh []sample) {
	for i, place := range l.place[:l.n] {
		if l.hasMoved(place) { // rarely: a new one among the lowest
			l.n = 0
			break
		}
		left := bits.OnesCount64(l.moved[place/64] & (1<<(place%64) - 1))
		for _, word := range l.moved[:place/64] {
			left += bits.OnesCount64(word)
		}
		value := h.at(int(place)).value
		come, _ := slices.BinarySearchFunc(fresh, value, func(s sample, v int64) int { return cmp.Compare(s.value, v) })
		l.place[i] = place + uint16(come-left)
	}
	clear(l.moved[:])
}

// note puts a sample on the list, whose priority is below the highest there, or
// there is room.
func (l *evictionList) note(place uint16, priority int64) {
	if l.n == len(l.place) {
		l.n--
		copy(l.priority[:l.n], l.priority[1:])
		copy(l.place[:l.n], l.place[1:])
	}
	i := l.n
	for ; i > 0 && l.priority[i-1] < priority; i-- {
		l.priority[i] = l.priority[i-1]
		l.place[i] = l.place[i-1]
	}
	l.priority[i] = priority
	l.place[i] = place
	l.n++
}

// becomeFull turns times of arrival into priorities. h.mu is held.
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
		h.evictions.move(i)
	}
	h.sorted = h.n
	// If values come evenly, this span above the threshold has 48 priorities.
	h.evictions.span = 3_112_840_000 // meanLife · 48 / 1,028
	h.findEvictions(floor)
}

// findEvictions finds the samples of lowest priority, none of which is below
// floor, and sets threshold by them. h.mu is held.
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
					l.note(place, s.at)
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

// raiseThreshold sets threshold to the lowest priority in the reservoir. h.mu
// is held.
func (h *histogram) raiseThreshold() {
	h.threshold.Store(h.evictions.priority[h.evictions.n-1] ^ math.MinInt64)
}

// offer replaces the sample of the lowest priority, if that of v is higher.
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
		l.move(place)
	}
	*s = sample{v, priority}
	h.replaced++
	l.n--
	switch {
	case l.n == 0:
		h.findEvictions(h.threshold.Load() ^ math.MinInt64)
	case priority < l.priority[0]:
		l.note(place, priority)
		fallthrough
	default:
		h.raiseThreshold()
	}
}
