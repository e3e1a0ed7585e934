// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

const (
	reservoirSize = 1028        // limits the values that a histogram keeps
	decay         = 0.015       // of a value's weight, per second
	meanLife      = 1e9 / decay // nanoseconds until a weight has fallen by a factor of e
)

// sample is a value in the reservoir.
type sample struct {
	value int64
	// at is the time of the value's arrival, in nanoseconds since base. Once
	// the reservoir is full, at is the priority: this time plus the value's
	// delay.
	at int64
}

// reservoir holds the values of a histogram, with 16 bytes each. The first
// values are inline, the others in segments. Segments are added as values arrive
// and never copied.
type reservoir struct {
	segment1 *[32]sample
	segment2 *[64]sample
	segment3 *[128]sample
	segment4 *[256]sample
	segment5 *[512]sample
	segment6 *[28]sample
	segment0 [8]sample
}

// segments is the number of segments.
const segments = 7

// segment returns segment i, which must exist.
func (r *reservoir) segment(i int) []sample {
	switch i {
	case 0:
		return r.segment0[:]
	case 1:
		return r.segment1[:]
	case 2:
		return r.segment2[:]
	case 3:
		return r.segment3[:]
	case 4:
		return r.segment4[:]
	case 5:
		return r.segment5[:]
	default:
		return r.segment6[:]
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
func (r *reservoir) at(i int) *sample {
	segment, offset := locate(i)
	return &r.segment(segment)[offset]
}

// allocate makes the memory of a segment.
func (r *reservoir) allocate(segment int) {
	switch segment {
	case 1:
		r.segment1 = new([32]sample)
	case 2:
		r.segment2 = new([64]sample)
	case 3:
		r.segment3 = new([128]sample)
	case 4:
		r.segment4 = new([256]sample)
	case 5:
		r.segment5 = new([512]sample)
	case 6:
		r.segment6 = new([28]sample)
	}
}

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
// of r back in order. fresh holds the samples that have moved, in order. A
// place falls by one for each moved sample that stood before it, and rises by
// one for each fresh sample that comes before it.
func (l *evictionList) relocate(r *reservoir, fresh []sample) {
	for i, place := range l.place[:l.n] {
		if l.hasMoved(place) { // a new sample is among the lowest, which is rare
			l.n = 0
			break
		}
		left := bits.OnesCount64(l.moved[place/64] & (1<<(place%64) - 1))
		for _, word := range l.moved[:place/64] {
			left += bits.OnesCount64(word)
		}
		value := r.at(int(place)).value
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
