// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package exphist

import (
	"encoding/binary"
	"math"
	"slices"
)

// Compact is a histogram for one goroutine, for those who keep very many of
// them with few values each. NewCompact makes it. What a [Histogram] of the
// same layout gives for the same values, it gives too.
//
// An assignment shares its memory, unless it is empty: to make many, copy an
// empty one.
type Compact struct {
	shape *shape

	// few are the values, while they take less memory than what wide has
	// instead.
	few  []uint32
	wide *wide
}

// shape is what all copies of an empty Compact share. Others of the same layout
// have an equal one.
type shape struct {
	layout Layout // with the schema as made
	grid   *grid
}

// wide is a Compact of many values, or of such as few cannot hold.
type wide struct {
	sum              uint128
	least, most      int64 // of the positive values, MaxInt64 and 0 if there is none
	zeros, negatives uint64
	classes          []uint64 // as in Histogram

	// Buckets are numbered as in state. Digit p, to the base 256, of the count
	// of bucket first+i is digits[i+p·buckets]: the memory follows the largest
	// count.
	digits         []byte
	first, buckets int32
	shift          uint8
}

// wideSize is what a wide takes beside its digits and classes, in bytes.
const wideSize = 112

// NewCompact returns an empty histogram of this layout, or an error that names
// the field that is out of range.
func NewCompact(l Layout) (Compact, error) {
	if err := l.check(); err != nil {
		return Compact{}, err
	}
	return Compact{shape: &shape{l, gridOf(l.Unit, l.Schema)}}, nil
}

// Record records n. It allocates as the values become more, and no longer once
// there are hundreds and their range is known.
func (c *Compact) Record(n int64) {
	w := c.wide
	if w == nil || n < w.least || n > w.most || c.shape.layout.Bounds != nil {
		if k := len(c.few); k < cap(c.few) && uint64(n)-1 < math.MaxUint32 {
			c.few = c.few[:k+1]
			c.few[k] = uint32(n)
			return
		}
		c.recordSlowly(n)
		return
	}
	w.sum = w.sum.plus(uint128{0, uint64(n)})
	bucket, digits := c.shape.grid.position(n)>>(w.shift&63)-int(w.first), w.digits
	digit := digits[bucket] + 1
	digits[bucket] = digit
	if digit == 0 {
		w.carry(bucket)
	}
}

// recordSlowly records a value that has no room yet, or is to be counted by
// explicit bounds too.
func (c *Compact) recordSlowly(n int64) {
	if c.wide == nil {
		if n > 0 && n <= math.MaxUint32 && c.moreRoom() {
			c.few = append(c.few, uint32(n))
			return
		}
		c.widen()
	}
	w := c.wide
	switch {
	case n < 0:
		w.negatives++
	case n == 0:
		w.zeros++
	default:
		w.include(c.shape, n, n, w.shift)
		w.record(c.shape, n)
	}
}

// moreRoom makes room for more values among the few, and returns false if they
// take less memory in a wide.
func (c *Compact) moreRoom() bool {
	want := len(c.few) + len(c.few)/2 + 2
	if len(c.few) > 0 {
		least, most := c.extremes()
		_, low, high := c.shape.span(least, most, 0)
		if 4*want > wideSize+high-low+chunk {
			return false
		}
	}
	c.few = append(slices.Grow([]uint32(nil), want), c.few...)
	return true
}

// extremes returns the smallest and the largest of the few.
func (c *Compact) extremes() (least, most int64) {
	least = math.MaxInt64
	for _, n := range c.few {
		least, most = min(least, int64(n)), max(most, int64(n))
	}
	return least, most
}

// widen moves the few to a wide.
func (c *Compact) widen() {
	if c.wide != nil {
		return
	}
	w := &wide{least: math.MaxInt64, shift: uint8(max(-c.shape.layout.Schema, 0))}
	if n := c.shape.layout.Bounds.Len(); n > 0 {
		w.classes = make([]uint64, n)
	}
	if len(c.few) > 0 {
		least, most := c.extremes()
		w.include(c.shape, least, most, w.shift)
		for _, n := range c.few {
			w.record(c.shape, int64(n))
		}
	}
	c.few, c.wide = nil, w
}

// span returns by how much the schema of the values from least to most is below
// the grid's, at least shift, and their first and last bucket.
func (s *shape) span(least, most int64, shift uint8) (to uint8, low, high int) {
	shift = max(shift, uint8(max(-s.layout.Schema, 0)))
	low, high = s.grid.position(least), s.grid.position(most)
	for high>>shift-low>>shift >= s.layout.MaxBuckets {
		shift++
	}
	return shift, low >> shift, high >> shift
}

// include makes the range of the values include least and most, and lowers the
// schema as needed, and at least to what shift says.
func (w *wide) include(s *shape, least, most int64, shift uint8) {
	if least >= w.least && most <= w.most && shift <= w.shift {
		return
	}
	w.least, w.most = min(least, w.least), max(most, w.most)
	shift, low, high := s.span(w.least, w.most, max(shift, w.shift))
	if shift == w.shift && low >= int(w.first) && high < int(w.first+w.buckets) {
		return
	}
	old := *w
	w.shift, w.first = shift, int32(low&^(chunk-1))
	w.buckets = int32(high|(chunk-1)) + 1 - w.first
	w.digits = make([]byte, int(w.buckets)*max(old.planes(), 1))
	if shift == old.shift { // the digits stay as they are
		for plane := range old.planes() {
			digits := old.digits[plane*int(old.buckets):][:old.buckets]
			copy(w.digits[plane*int(w.buckets)+int(old.first-w.first):], digits)
		}
		return
	}
	for i := range int(old.buckets) {
		if n := old.count(i); n > 0 {
			w.add((int(old.first)+i)>>(shift-old.shift)-int(w.first), 0, n)
		}
	}
}

// record counts a positive value within the range.
func (w *wide) record(s *shape, n int64) {
	w.sum = w.sum.plus(uint128{0, uint64(n)})
	w.add(s.grid.position(n)>>w.shift-int(w.first), 0, 1)
	if class := s.layout.Bounds.class(n); class < len(w.classes) {
		w.classes[class]++
	}
}

// carry adds 1 to the second digit of the count of bucket first+i.
func (w *wide) carry(i int) { w.add(i, 1, 1) }

// add adds n times 256 to the power plane to the count of bucket first+i,
// modulo 2^64.
func (w *wide) add(i, plane int, n uint64) {
	for ; n > 0 && plane < 8; plane++ {
		if plane == w.planes() {
			w.digits = append(w.digits, make([]byte, w.buckets)...)
		}
		at := i + plane*int(w.buckets)
		sum := uint64(w.digits[at]) + n&0xFF
		w.digits[at] = byte(sum)
		n = n>>8 + sum>>8
	}
}

// count returns the count of bucket first+i.
func (w *wide) count(i int) (n uint64) {
	for shift := 0; i < len(w.digits); i += int(w.buckets) {
		n += uint64(w.digits[i]) << shift
		shift += 8
	}
	return n
}

// planes returns how many digits a count has.
func (w *wide) planes() int {
	if w.buckets == 0 {
		return 0
	}
	return len(w.digits) / int(w.buckets)
}

// Snapshot copies what was recorded into s, whose memory is used again.
func (c *Compact) Snapshot(s *Snapshot) {
	s.Reset()
	s.layout = c.shape.layout
	s.clearAtMost()
	if c.wide != nil {
		c.wide.snapshot(c.shape, s)
	} else {
		c.snapshotFew(s)
	}
	for _, n := range s.counts {
		s.count += n
	}
}

func (c *Compact) snapshotFew(s *Snapshot) {
	if len(c.few) == 0 {
		return
	}
	s.least, s.most = c.extremes()
	shift, low := s.makeCounts(c.shape, 0)
	for _, n := range c.few {
		s.sum = s.sum.plus(uint128{0, uint64(n)})
		s.counts[c.shape.grid.position(int64(n))>>shift-low]++
		for class := c.shape.layout.Bounds.class(int64(n)); class < len(s.atMost); class++ {
			s.atMost[class]++
		}
	}
}

func (w *wide) snapshot(c *shape, s *Snapshot) {
	s.zeros, s.negatives, s.sum = w.zeros, w.negatives, w.sum
	s.count = w.zeros
	s.layout.Schema = int(c.grid.schema) - int(w.shift)
	if w.most > 0 {
		s.least, s.most = w.least, w.most
		_, low := s.makeCounts(c, w.shift)
		for plane := range w.planes() {
			digits := w.digits[plane*int(w.buckets)+low-int(w.first):][:len(s.counts)]
			for i, digit := range digits {
				s.counts[i] += uint64(digit) << (8 * plane)
			}
		}
	}
	below := w.zeros
	for class, n := range w.classes {
		below += n
		s.atMost[class] = below
	}
}

// makeCounts makes the counts of the buckets from s.least to s.most zeros. It
// returns by how much the schema is below the grid's, and the first bucket.
func (s *Snapshot) makeCounts(c *shape, shift uint8) (uint8, int) {
	shift, low, high := c.span(s.least, s.most, shift)
	s.layout.Schema = int(c.grid.schema) - int(shift)
	s.first = low + c.grid.base>>shift + 1
	s.counts = slices.Grow(s.counts[:0], high-low+1)[:high-low+1]
	clear(s.counts)
	return shift, low
}

// Merge adds what s holds, as [Histogram.Merge] does.
func (c *Compact) Merge(s *Snapshot) error {
	if s.layout.MaxBuckets == 0 {
		return nil
	}
	if err := c.shape.layout.mergeable(s.layout); err != nil {
		return err
	}
	if c.takeFew(s) {
		return nil
	}
	c.widen()
	w := c.wide
	w.zeros += s.zeros
	w.negatives += s.negatives
	below := s.zeros
	for class, n := range s.atMost {
		w.classes[class] += n - below
		below = n
	}
	shift := uint8(max(int(c.shape.grid.schema)-s.layout.Schema, 0))
	w.reduceTo(c.shape, shift)
	if s.most == 0 {
		return nil
	}
	w.include(c.shape, s.least, s.most, shift)
	w.sum = w.sum.plus(s.sum)
	base, k := c.shape.grid.base>>w.shift, s.layout.Schema-(int(c.shape.grid.schema)-int(w.shift))
	for i, n := range s.counts {
		if n > 0 {
			w.add((s.first+i-1)>>k-base-int(w.first), 0, n)
		}
	}
	return nil
}

// takeFew makes an empty c what s holds if that is a value or two: then the
// smallest and the largest are all of them, and they need not be in a wide.
func (c *Compact) takeFew(s *Snapshot) bool {
	if c.wide != nil || len(c.few) > 0 || s.count < 1 || s.count > 2 || s.zeros > 0 || s.negatives > 0 ||
		s.most > math.MaxUint32 || c.shape.layout.Bounds.Len() > 0 {
		return false
	}
	if shift, _, _ := c.shape.span(s.least, s.most, 0); s.layout.Schema != int(c.shape.grid.schema)-int(shift) {
		return false
	}
	c.few = append(make([]uint32, 0, 2), uint32(s.least), uint32(s.most))[:s.count]
	return true
}

// MergeCompact adds what o holds, which is not c, and stays as it is. It is an
// error, and changes nothing, if the units or the bounds differ.
func (c *Compact) MergeCompact(o *Compact) error {
	if *c.shape != *o.shape {
		var s Snapshot
		o.Snapshot(&s)
		return c.Merge(&s)
	}
	empty := c.wide == nil && len(c.few) == 0
	switch {
	case o.wide == nil && empty:
		c.few = append(slices.Grow(c.few, len(o.few)), o.few...)
	case o.wide == nil:
		for _, n := range o.few {
			c.Record(int64(n))
		}
	case empty:
		w := *o.wide
		w.classes, w.digits = slices.Clone(w.classes), slices.Clone(w.digits)
		c.few, c.wide = nil, &w
	default:
		c.widen()
		c.wide.merge(c.shape, o.wide)
	}
	return nil
}

// merge adds what o holds, of the same shape.
func (w *wide) merge(s *shape, o *wide) {
	w.zeros += o.zeros
	w.negatives += o.negatives
	w.sum = w.sum.plus(o.sum)
	for class, n := range o.classes {
		w.classes[class] += n
	}
	w.reduceTo(s, o.shift)
	if o.most == 0 {
		return
	}
	w.include(s, o.least, o.most, o.shift)
	if w.shift == o.shift {
		w.addDigits(o)
		return
	}
	for i := range int(o.buckets) {
		if n := o.count(i); n > 0 {
			w.add((int(o.first)+i)>>(w.shift-o.shift)-int(w.first), 0, n)
		}
	}
}

// addDigits adds the counts of o, which has the same schema, and whose buckets
// are all among w's. It takes eight of them at a time: first and buckets are
// multiples of chunk.
func (w *wide) addDigits(o *wide) {
	planes := o.planes()
	if more := planes - w.planes(); more > 0 {
		w.digits = append(w.digits, make([]byte, more*int(w.buckets))...)
	}
	for i := 0; i < int(o.buckets); i += chunk {
		carry := uint64(0) // a digit of 0 or 1 for each bucket
		to := int(o.first-w.first) + i
		for plane := 0; plane < planes || carry > 0 && plane < 8; plane++ {
			n := uint64(0)
			if plane < planes {
				n = binary.LittleEndian.Uint64(o.digits[plane*int(o.buckets)+i:])
			}
			if n|carry > 0 {
				if to >= len(w.digits) {
					w.digits = append(w.digits, make([]byte, w.buckets)...)
				}
				digits := w.digits[to:][:chunk]
				var sum uint64
				sum, carry = addBytes(binary.LittleEndian.Uint64(digits), n, carry)
				binary.LittleEndian.PutUint64(digits, sum)
			}
			to += int(w.buckets)
		}
	}
}

// addBytes returns a + b + carry, byte by byte, and the carries out of the
// bytes. Carries are bytes of 0 or 1.
func addBytes(a, b, carry uint64) (sum, carries uint64) {
	const tops = 0x8080808080808080
	sum = (a&^tops + b&^tops) ^ (a^b)&tops
	carries = a&b | (a|b)&^sum
	with := (sum&^tops + carry) ^ sum&tops
	return with, (carries | sum&^with) & tops >> 7
}

// reduceTo makes the schema at most what shift says.
func (w *wide) reduceTo(s *shape, shift uint8) {
	if w.most > 0 {
		w.include(s, w.least, w.most, shift)
	} else {
		w.shift = max(w.shift, shift)
	}
}
