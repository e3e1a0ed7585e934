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
// for Streaming Systems", ICDE 2009). A value that arrives at time t has the
// weight w = exp(decay·t) and the priority w/u, with u uniform in (0, 1]. The
// reservoir keeps the values with the highest priorities.
//
// Here a priority is ln(w/u)/decay = t − ln(u)/decay, a time. The order is the
// same. As nanoseconds in an int64, a priority neither overflows nor loses
// precision, so nothing must be rescaled. The second term is the value's delay.
// It is exponentially distributed with a mean of 67 seconds.

// expDelay returns −ln(u)/decay in nanoseconds, with u from 64 random bits.
func expDelay(r uint64) int64 {
	u := (float64(r>>11) + 0.5) / (1 << 53)
	return int64(-math.Log(u) * meanLife)
}

// maxExpDelay returns an upper bound of expDelay(r). It needs only the number
// of leading zeros of r, because u is at least 2^−(zeros+1).
func maxExpDelay(r uint64) int64 {
	const halfLife = 46_209_812_038 // ln 2 · meanLife, rounded up
	return int64(bits.LeadingZeros64(r)+1) * halfLife
}

// random returns 64 random bits. It hashes the number of updates so far as
// wyrand does (Wang Yi, wyhash). It adds the time, so that goroutines that have
// read the same number get different bits.
func random(seed, n, t uint64) uint64 {
	s := seed + n*0x9e3779b97f4a7c15 + t*0xd6e8feb86659fd93
	hi, lo := bits.Mul64(s, s^0xe7037ed1a0b428db)
	return hi ^ lo
}

// evictionList lists the samples of a full reservoir that leave next, and the
// samples that are out of order.
type evictionList struct {
	// The n samples of lowest priority: their priorities, in falling order,
	// and their places. When the list is empty, one pass over the reservoir
	// finds the next samples, with priorities up to span above the threshold.
	// A heap of all samples would take more time for each replacement, and
	// more memory.
	priority [64]int64
	place    [64]uint16
	n        int
	span     int64
	// moved has a bit for each sample that is not yet in its place by value,
	// nor in the sums.
	moved [(reservoirSize + 63) / 64]uint64
}

func (l *evictionList) markMoved(place uint16)     { l.moved[place/64] |= 1 << (place % 64) }
func (l *evictionList) hasMoved(place uint16) bool { return l.moved[place/64]&(1<<(place%64)) != 0 }
func (l *evictionList) anyMoved() bool             { return l.moved != [len(l.moved)]uint64{} }

// separate divides the samples of the reservoir. It moves the samples that are
// in order together, in place, and appends the others to fresh.
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

// relocate updates the places on the list before the caller writes the samples
// of h back in order. fresh holds the samples that have moved, in order. A
// place falls by one for each moved sample that stood before it, and rises by
// one for each fresh sample that comes before it.
func (l *evictionList) relocate(h *histogram, fresh []sample) {
	for i, place := range l.place[:l.n] {
		if l.hasMoved(place) { // a new sample is among the lowest, which is rare
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

// insert puts a sample on the list. If the list is full, the sample replaces
// the one with the highest priority, which must be higher than its own.
func (l *evictionList) insert(place uint16, priority int64) {
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
