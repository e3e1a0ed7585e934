// Copyright 2026 The Regometer Authors
// SPDX-License-Identifier: Apache-2.0

package groupby

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"

	"github.com/regometer/regometer/exphist"
	"github.com/regometer/regometer/internal/grid"
)

// Layout is the layout of all histograms. It has room for the buckets of all
// positive int64s. So no histogram reduces its schema, and the error of a
// quantile does not depend on the range of the values.
var Layout = exphist.Layout{Unit: exphist.Nanosecond, Schema: 5, MaxBuckets: 64 << 5}

// bounds are the bounds of the buckets of Layout.
var bounds = grid.New(1e9, uint(Layout.Schema))

// durations is a histogram of positive values for one goroutine. It takes
// little memory for few values. Its counts and its sum are those of an
// [exphist.Histogram] with the same layout. The zero value is empty. An
// assignment does not copy the values.
type durations struct {
	// few has the values, as long as they take less memory than wide would.
	// Otherwise wide has them.
	few  []uint32
	wide *wide
}

// wide is a histogram of many values, or of values above 32 bits.
type wide struct {
	sum         Sum
	least, most int64 // MaxInt64 and 0 if there is no value

	// The number of a bucket is its position in bounds. The count of bucket
	// first+i has digits to the base 256. Digit p is digits[i+p·buckets]. So
	// the memory depends on the range of the values and on the largest count.
	digits         []byte
	first, buckets int32
}

const (
	wideSize = 72 // the bytes of a wide without its digits
	chunk    = 8  // the range grows by this many buckets, because addDigits adds 8 at a time
)

// record records n > 0. It allocates memory for the first hundreds of values,
// and later only when their range grows.
func (d *durations) record(n int64) {
	w := d.wide
	if w == nil || n < w.least || n > w.most {
		if k := len(d.few); k < cap(d.few) && n <= math.MaxUint32 {
			d.few = d.few[:k+1]
			d.few[k] = uint32(n)
			return
		}
		d.recordSlowly(n)
		return
	}
	w.sum = w.sum.Plus(Sum{Lo: uint64(n)})
	bucket, digits := bounds.Position(n)-int(w.first), w.digits
	digit := digits[bucket] + 1
	digits[bucket] = digit
	if digit == 0 {
		w.add(bucket, 1, 1)
	}
}

// recordSlowly makes room for a value, and records it.
func (d *durations) recordSlowly(n int64) {
	if d.wide == nil {
		if n <= math.MaxUint32 && d.moreRoom() {
			d.few = append(d.few, uint32(n))
			return
		}
		d.widen()
	}
	d.wide.include(n, n)
	d.wide.record(n)
}

// moreRoom makes room in few. It returns false if a wide takes less memory.
func (d *durations) moreRoom() bool {
	want := len(d.few) + len(d.few)/2 + 2
	if len(d.few) > 0 {
		least, most := d.extremes()
		if 4*want > wideSize+bounds.Position(most)-bounds.Position(least)+chunk {
			return false
		}
	}
	d.few = append(slices.Grow([]uint32(nil), want), d.few...)
	return true
}

// extremes returns the smallest and the largest of the few.
func (d *durations) extremes() (least, most int64) {
	return int64(slices.Min(d.few)), int64(slices.Max(d.few))
}

// widen moves the values from few to a wide, unless there is one.
func (d *durations) widen() {
	if d.wide != nil {
		return
	}
	w := &wide{least: math.MaxInt64}
	if len(d.few) > 0 {
		w.include(d.extremes())
		for _, n := range d.few {
			w.record(int64(n))
		}
	}
	d.few, d.wide = nil, w
}

// include extends the range of the values to least and most.
func (w *wide) include(least, most int64) {
	if least >= w.least && most <= w.most {
		return
	}
	w.least, w.most = min(least, w.least), max(most, w.most)
	low, high := bounds.Position(w.least), bounds.Position(w.most)
	if low >= int(w.first) && high < int(w.first+w.buckets) {
		return
	}
	old := *w
	w.first = int32(low &^ (chunk - 1))
	w.buckets = int32(high|(chunk-1)) + 1 - w.first
	w.digits = make([]byte, int(w.buckets)*max(old.planes(), 1))
	for plane := range old.planes() {
		digits := old.digits[plane*int(old.buckets):][:old.buckets]
		copy(w.digits[plane*int(w.buckets)+int(old.first-w.first):], digits)
	}
}

// record counts a value, which must be within the range.
func (w *wide) record(n int64) {
	w.sum = w.sum.Plus(Sum{Lo: uint64(n)})
	w.add(bounds.Position(n)-int(w.first), 0, 1)
}

// add adds n·256^plane to the count of bucket first+i.
func (w *wide) add(i, plane int, n uint64) {
	for ; n > 0; plane++ {
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

// planes returns the number of digits that each count has.
func (w *wide) planes() int {
	if w.buckets == 0 {
		return 0
	}
	return len(w.digits) / int(w.buckets)
}

// snapshot copies d into s. It uses c and its memory on the way.
func (d *durations) snapshot(s *exphist.Snapshot, c *exphist.Content) {
	w := d.wide
	if w == nil {
		w = new(wide)
		if len(d.few) > 0 {
			w.least, w.most = d.extremes()
			for _, n := range d.few {
				w.sum = w.sum.Plus(Sum{Lo: uint64(n)})
			}
		}
	}
	*c = exphist.Content{Layout: Layout, Counts: c.Counts[:0]}
	if w.most > 0 {
		low, high := bounds.Position(w.least), bounds.Position(w.most)
		c.Least, c.Most, c.SumHi, c.SumLo = w.least, w.most, w.sum.Hi, w.sum.Lo
		c.First = low + bounds.Base + 1
		c.Counts = slices.Grow(c.Counts, high-low+1)[:high-low+1]
		clear(c.Counts)
		for _, n := range d.few {
			c.Counts[bounds.Position(int64(n))-low]++
		}
		for plane := range w.planes() {
			digits := w.digits[plane*int(w.buckets)+low-int(w.first):][:len(c.Counts)]
			for i, digit := range digits {
				c.Counts[i] += uint64(digit) << (8 * plane)
			}
		}
	}
	if err := s.Restore(c); err != nil {
		panic(err) // the content of a histogram is valid
	}
}

// restore adds the values of s to d, which must be empty. The values must be
// positive, and s must have the schema of Layout.
func (d *durations) restore(s *exphist.Snapshot) {
	least, most := s.Min(), s.Max()
	switch {
	case s.Count() == 0:
		return
	case s.Count() <= 2 && most <= math.MaxUint32: // there are no values between them
		d.few = append(make([]uint32, 0, 2), uint32(least), uint32(most))[:s.Count()]
		return
	}
	d.widen()
	w := d.wide
	w.include(least, most)
	w.sum.Hi, w.sum.Lo = s.Sum()
	first, counts := s.Buckets()
	first -= bounds.Base + 1 + int(w.first)
	for i, n := range counts {
		w.add(first+i, 0, n)
	}
}

// merge adds the values of o, and does not change o.
func (d *durations) merge(o *durations) {
	empty := d.wide == nil && len(d.few) == 0
	switch {
	case o.wide == nil && empty:
		d.few = append(slices.Grow(d.few, len(o.few)), o.few...)
	case o.wide == nil:
		for _, n := range o.few {
			d.record(int64(n))
		}
	case empty:
		w := *o.wide
		w.digits = slices.Clone(w.digits)
		d.few, d.wide = nil, &w
	default:
		d.widen()
		d.wide.merge(o.wide)
	}
}

// merge adds the values of o.
func (w *wide) merge(o *wide) {
	w.sum = w.sum.Plus(o.sum)
	w.include(o.least, o.most)
	w.addDigits(o)
}

// addDigits adds the counts of o, whose range w must include. It adds eight
// buckets at a time. It can, because first and buckets are multiples of chunk.
func (w *wide) addDigits(o *wide) {
	planes := o.planes()
	if more := planes - w.planes(); more > 0 {
		w.digits = append(w.digits, make([]byte, more*int(w.buckets))...)
	}
	for i := 0; i < int(o.buckets); i += chunk {
		carry := uint64(0) // a byte of 0 or 1 for each bucket
		to := int(o.first-w.first) + i
		for plane := 0; plane < planes || carry > 0; plane++ {
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

// addBytes returns a + b + carry for each byte separately, and the carries out
// of the bytes. Carries are bytes of 0 or 1.
func addBytes(a, b, carry uint64) (sum, carries uint64) {
	const tops = 0x8080808080808080
	sum = (a&^tops + b&^tops) ^ (a^b)&tops
	carries = a&b | (a|b)&^sum
	with := (sum&^tops + carry) ^ sum&tops
	return with, (carries | sum&^with) & tops >> 7
}

// Sum is an unsigned sum of 128 bits, Hi·2^64 + Lo.
type Sum struct{ Hi, Lo uint64 }

// Plus returns a + b, modulo 2^128.
func (a Sum) Plus(b Sum) Sum {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	return Sum{a.Hi + b.Hi + carry, lo}
}

// minus returns a − b. b must not be above a.
func (a Sum) minus(b Sum) Sum {
	lo, borrow := bits.Sub64(a.Lo, b.Lo, 0)
	return Sum{a.Hi - b.Hi - borrow, lo}
}

// String returns the sum in decimal.
func (a Sum) String() string {
	if a.Hi == 0 {
		return strconv.FormatUint(a.Lo, 10)
	}
	n := new(big.Int).SetUint64(a.Hi)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(a.Lo)).String()
}

// ParseSum returns the sum whose String is text. It fails if there is none.
func ParseSum(text []byte) (a Sum, err error) {
	for i, digit := range text {
		hi, lo := bits.Mul64(a.Lo, 10)
		over, high := bits.Mul64(a.Hi, 10)
		sum := Sum{high, 0}.Plus(Sum{hi, lo}).Plus(Sum{Lo: uint64(digit - '0')})
		if digit < '0' || digit > '9' || i > 0 && a == (Sum{}) || over > 0 || sum.Hi < high {
			return Sum{}, fmt.Errorf("invalid sum %.50q: it must be an integer from 0 to 2^128-1", text)
		}
		a = sum
	}
	return a, nil
}

// Less reports whether a is less than b.
func (a Sum) Less(b Sum) bool { return a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo }
